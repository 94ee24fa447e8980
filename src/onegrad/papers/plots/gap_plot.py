"""Gaps between network and Hermite models: against an axis, and which degree closes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from onegrad.papers.panel import Panel
from onegrad.papers.plots.curve_plot import CLOSED_LOOK, add_curve, finish_picture, has_closed
from onegrad.papers.plots.style import finish_figure
from onegrad.papers.tables.panel_table import CLOSED
from onegrad.papers.tables.value_grids import value_grid
from onegrad.plotting.look import STYLES

DEGREE_COLOURS = ["#f7f7f7", "#d9d9d9", "#bdbdbd", "#6baed6", "#2171b5", "#08306b"]


def draw_gaps(panel: Panel, table: pd.DataFrame) -> Figure:
    """Return the gap of every degree as a curve with markers."""
    figure = Figure(figsize=(6.6, 4.6), layout="constrained")
    axes = figure.add_subplot()
    degrees = table["model"].str.extract(r"(\d+)", expand=False)
    handles = []
    for degree, (colour, marker) in zip(degrees.unique(), STYLES, strict=False):
        for _, lines in table[degrees == degree].groupby("model", sort=False):
            add_curve(axes, lines, colour, {"marker": marker, "ls": "-", "lw": 1.2})
            if has_closed(lines):
                add_curve(axes, lines.assign(value=lines[CLOSED]), colour, CLOSED_LOOK)
        label = f"degree {degree}"
        handles.append(Line2D([], [], color=colour, marker=marker, ls="-", label=label))
    if has_closed(table):
        handles.append(Line2D([], [], color="#777777", label=f"{CLOSED} theory", **CLOSED_LOOK))
    finish_picture(figure, axes, panel, handles)
    return figure


def draw_degrees(panel: Panel, table: pd.DataFrame) -> Figure:
    """Return the map of the smallest sufficient degree with the theorem's boundaries.

    That of theory without draws stands beside it where there is one.
    """
    assert panel.y is not None
    most = len(DEGREE_COLOURS)
    maps = {f"theory (orange: none up to {most})": value_grid(table)}
    if has_closed(table):
        maps[f"{CLOSED} theory"] = value_grid(table, CLOSED)
    colours = ListedColormap(DEGREE_COLOURS).with_extremes(bad="#D55E00")
    norm = BoundaryNorm(np.arange(0.5, most + 1.5), most)
    figure = Figure(figsize=(1.4 + 4.8 * len(maps), 4.4), layout="constrained")
    pictures = figure.subplots(1, len(maps), sharey=True, squeeze=False)[0]
    for axes, (title, (x, y, z)) in zip(pictures, maps.items(), strict=True):
        shown = np.ma.masked_invalid(z)
        image = axes.pcolormesh(x, y, shown, shading="nearest", cmap=colours, norm=norm)
        for degree in range(1, most):
            if degree / (degree + 1) <= y.max():
                _add_boundary(axes, degree)
        axes.set_xlabel(panel.x.label)
        axes.set_title(title, loc="left", fontsize="medium")
    pictures[0].set_ylabel(panel.y.label)
    label = "smallest sufficient degree"
    figure.colorbar(image, ax=pictures, ticks=range(1, most + 1), label=label)
    finish_figure(figure, panel)
    return figure


def _add_boundary(axes: Axes, degree: int) -> None:
    """Draw the strength d/(d + 1) above which the theorem asks for degree d + 1."""
    boundary = degree / (degree + 1)
    axes.axhline(boundary, color="black", lw=1, ls="--")
    place: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    # Boundaries crowd together: every other label stands further left.
    shift = (-52 - 60 * (degree % 2), 2)
    label = f"degree {degree + 1}"
    axes.annotate(label, (1, boundary), xytext=shift, fontsize="x-small", **place)
