"""Maps over two axes: the simulated one beside those of theory, on one colour scale."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from onegrad.papers.panel import Panel
from onegrad.papers.plots.style import finish_figure
from onegrad.papers.tables.value_grids import GAP_RANGE, Grids, fine_grids, map_grids
from onegrad.papers.value_labels import value_label

ACROSS = 3  # maps beside each other


def draw_map(panel: Panel, table: pd.DataFrame) -> Figure:
    """Return the maps of the panel's metric, coloured from its least to its largest value."""
    return _draw_values(panel, map_grids(table))


def draw_fine_map(panel: Panel, table: pd.DataFrame) -> Figure:
    """Return the simulated map beside that of theory without draws, which has more points."""
    grids = fine_grids(table)
    x, y, _ = [*grids.values()][-1]
    figure = _draw_values(panel, grids)
    for axes in figure.axes[: len(grids)]:  # the cells at the edges reach beyond by half a cell
        axes.set(xlim=(x.min(), x.max()), ylim=(y.min(), y.max()))
    return figure


def draw_linear_map(panel: Panel, table: pd.DataFrame) -> Figure:
    """Return the maps of the linear model's gap, coloured by its logarithm."""
    grids = {t: (x, y, np.clip(z, *GAP_RANGE)) for t, (x, y, z) in map_grids(table).items()}
    return _draw(panel, grids, value_label(panel), norm=LogNorm(*GAP_RANGE))


def _draw_values(panel: Panel, grids: Grids) -> Figure:
    """Return maps that share the range of all their values."""
    values = np.concatenate([z.ravel() for _, _, z in grids.values()])
    ends = {"vmin": np.nanmin(values), "vmax": np.nanmax(values)}
    return _draw(panel, grids, value_label(panel), **ends)


def _draw(panel: Panel, grids: Grids, label: str, **colours: Any) -> Figure:
    """Return maps that share axes and colours, at most three beside each other."""
    assert panel.y is not None
    columns = min(len(grids), ACROSS)
    rows = math.ceil(len(grids) / columns)
    figure = Figure(figsize=(1.2 + 3.7 * columns, 0.2 + 3.6 * rows), layout="constrained")
    pictures = figure.subplots(rows, columns, sharey=True, squeeze=False)
    for axes, (title, (x, y, z)) in zip(pictures.flat, grids.items(), strict=False):
        image = axes.pcolormesh(x, y, z, shading="nearest", cmap="cividis", **colours)
        axes.set_title(title, loc="left", fontsize="medium")
        axes.set_xlabel(panel.x.label)
    for axes in pictures[:, 0]:
        axes.set_ylabel(panel.y.label)
    for axes in pictures.flat[len(grids) :]:
        axes.set_visible(False)
    figure.colorbar(image, ax=pictures, label=label)
    finish_figure(figure, panel)
    return figure
