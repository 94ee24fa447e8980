"""Maps over two axes: the simulated one beside those of theory, on one colour scale."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from onegrad.describe.arrays import Floats
from onegrad.figures.panel import Panel
from onegrad.figures.plots.curve_plot import has_closed
from onegrad.figures.plots.style import value_grid, value_label
from onegrad.figures.tables.panel_table import CLOSED

GAP_RANGE = (4, 100)  # per cent; the colours of gaps end here

Grids = dict[str, tuple[Floats, Floats, Floats]]  # by title


def draw_map(panel: Panel, table: pd.DataFrame) -> Figure:
    """Return the maps of the panel's metric, coloured from its least to its largest value."""
    return _draw_values(panel, _grids(table))


def draw_fine_map(panel: Panel, table: pd.DataFrame) -> Figure:
    """Return the simulated map beside that of theory without draws, which has more points."""
    titles = {"network": "simulated", f"network_{CLOSED}": f"{CLOSED} theory"}
    grids = {}
    for model, title in titles.items():
        x, y, z = value_grid(table[table["model"] == model])
        grids[f"{title}, {len(x)} × {len(y)}"] = x, y, z
    figure = _draw_values(panel, grids)
    for axes in figure.axes[: len(grids)]:  # the cells at the edges reach beyond by half a cell
        axes.set(xlim=(x.min(), x.max()), ylim=(y.min(), y.max()))
    return figure


def draw_linear_map(panel: Panel, table: pd.DataFrame) -> Figure:
    """Return the maps of the linear model's gap, coloured by its logarithm."""
    grids = {t: (x, y, np.clip(z, *GAP_RANGE)) for t, (x, y, z) in _grids(table).items()}
    return _draw(panel, grids, "gap of the linear model, %", norm=LogNorm(*GAP_RANGE))


def _grids(table: pd.DataFrame) -> Grids:
    """Return the simulated and the predicted values over both axes."""
    model = next(name for name in table["model"].unique() if not name.endswith("_theory"))
    simulated = table[table["model"] == model]
    theory = table[table["model"] == f"{model}_theory"]
    grids = {"simulated": value_grid(simulated), "theory": value_grid(theory)}
    if has_closed(simulated):
        grids[f"{CLOSED} theory"] = value_grid(simulated, CLOSED)
    return grids


def _draw_values(panel: Panel, grids: Grids) -> Figure:
    """Return maps that share the range of all their values."""
    values = np.concatenate([z.ravel() for _, _, z in grids.values()])
    ends = {"vmin": np.nanmin(values), "vmax": np.nanmax(values)}
    return _draw(panel, grids, value_label(panel), **ends)


def _draw(panel: Panel, grids: Grids, label: str, **colours: Any) -> Figure:
    """Return maps beside each other that share axes and colours."""
    assert panel.y is not None
    figure = Figure(figsize=(1.2 + 3.7 * len(grids), 3.8), layout="constrained")
    pictures = figure.subplots(1, len(grids), sharey=True)
    for axes, (title, (x, y, z)) in zip(pictures, grids.items(), strict=True):
        image = axes.pcolormesh(x, y, z, shading="nearest", cmap="cividis", **colours)
        axes.set_title(f"{panel.name}, {title}", loc="left", fontweight="bold")
        axes.set_xlabel(panel.x.label)
    pictures[0].set_ylabel(panel.y.label)
    figure.colorbar(image, ax=pictures, label=label)
    return figure
