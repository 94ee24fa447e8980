"""What pictures of panels have in common: titles, legends, axes; colours are those of `drawing`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from onegrad.papers.panel import Panel
from onegrad.papers.tables.constant_lines import constant_lines
from onegrad.papers.value_labels import value_label
from onegrad.plotting.look import (
    CONSTANT,
    CONSTANT_LABEL,
    LONG_DASHES,
    STYLES,
    add_grid,
    log_x,
    log_y,
)

LEGEND_COLUMN = 1.9  # inches that an entry of a legend takes at most


def finish_figure(figure: Figure, panel: Panel, handles: Sequence[Artist] = ()) -> None:
    """Put the title above the picture, and the legend below it, where it takes no width."""
    figure.suptitle(panel.heading, x=0.01, ha="left", fontsize="medium", fontweight="bold")
    if handles:
        columns = max(1, min(len(handles), int(figure.get_figwidth() / LEGEND_COLUMN)))
        rows = math.ceil(len(handles) / columns)
        columns = math.ceil(len(handles) / rows)  # rows of about equal length
        figure.legend(
            handles=handles,
            loc="outside lower center",
            ncols=columns,
            frameon=False,
            fontsize="small",
        )


def add_constant(
    axes: Axes, panel: Panel, table: pd.DataFrame, *, by: str | None = None
) -> list[Line2D]:
    """Draw the best constant predictor where it is near, and return its entry of the legend."""
    lines = constant_lines(panel, table, by=by)
    for line in lines:
        colour = CONSTANT if line.series < 0 else STYLES[line.series % len(STYLES)][0]
        axes.plot(line.x, line.value, color=colour, ls=LONG_DASHES, lw=1.0, zorder=1)
    entry = Line2D([], [], color=CONSTANT, ls=LONG_DASHES, lw=1.0, label=CONSTANT_LABEL)
    return [entry] if lines else []


def finish_axes(axes: Axes, panel: Panel) -> None:
    """Label and scale the axes of a panel of curves."""
    axes.set_xlabel(panel.x.label)
    axes.set_ylabel(value_label(panel))
    if panel.x.log:
        log_x(axes)
    if panel.log_value:
        log_y(axes)
    add_grid(axes)
