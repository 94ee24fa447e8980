"""Maps over two axes: the simulated one beside the theory's, on one colour scale."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from onegrad.describe.arrays import Floats
from onegrad.figures.panel import Panel
from onegrad.figures.plots.style import value_grid, value_label

GAP_RANGE = (4, 100)  # per cent; the colours of gaps end here

Grids = list[tuple[Floats, Floats, Floats]]


def draw_map(panel: Panel, table: pd.DataFrame) -> Figure:
    """Return the maps of the panel's metric, coloured from its least to its largest value."""
    grids = _grids(table)
    values = np.concatenate([grid[2].ravel() for grid in grids])
    return _draw(panel, grids, value_label(panel), vmin=values.min(), vmax=values.max())


def draw_linear_map(panel: Panel, table: pd.DataFrame) -> Figure:
    """Return the maps of the linear model's gap, coloured by its logarithm."""
    grids = [(x, y, np.clip(z, *GAP_RANGE)) for x, y, z in _grids(table)]
    return _draw(panel, grids, "gap of the linear model, %", norm=LogNorm(*GAP_RANGE))


def _grids(table: pd.DataFrame) -> Grids:
    """Return the simulated and the predicted values over both axes."""
    simulated = next(name for name in table["model"].unique() if not name.endswith("_theory"))
    models = (simulated, f"{simulated}_theory")
    return [value_grid(table[table["model"] == model]) for model in models]


def _draw(panel: Panel, grids: Grids, label: str, **colours: Any) -> Figure:
    """Return two maps beside each other that share axes and colours."""
    assert panel.y is not None
    figure = Figure(figsize=(8.6, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for axes, title, (x, y, z) in zip((left, right), ("simulated", "theory"), grids, strict=True):
        image = axes.pcolormesh(x, y, z, shading="nearest", cmap="cividis", **colours)
        axes.set_title(f"{panel.name}, {title}", loc="left", fontweight="bold")
        axes.set_xlabel(panel.x.label)
    left.set_ylabel(panel.y.label)
    figure.colorbar(image, ax=(left, right), label=label)
    return figure
