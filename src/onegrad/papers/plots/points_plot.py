"""Simulation as points with error bars, theory as lines, pictures beside and below each other."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from onegrad.papers.panel import Axis, Panel
from onegrad.papers.plots.curve_plot import add_curve
from onegrad.papers.plots.style import add_constant, finish_axes, finish_figure
from onegrad.plotting.look import STYLES, model_name

GREY = "#777777"


def draw_points(panel: Panel, table: pd.DataFrame) -> Figure:
    """Return pictures with facets in columns and a colour per model, or per y of a single model.

    Rows are activations, and values of y where colours are models.
    """
    models = table["model"].str.removesuffix("_theory")
    by_model = models.nunique() > 1 or panel.y is None
    table = table.assign(colour=models if by_model else table["y"])
    below = ["activation", *(["y"] if by_model and panel.y is not None else [])]
    rows = [*table.groupby(below, sort=False)]
    facets = table["facet"].unique() if "facet" in table else [None]
    figure = Figure(
        figsize=(3.6 * max(len(facets), 2), 2.7 * len(rows) + 1.0), layout="constrained"
    )
    grid = figure.subplots(len(rows), len(facets), squeeze=False, sharex=True, sharey="row")
    names = table["colour"].unique()
    for pictures, (row, of_row) in zip(grid, rows, strict=True):
        for axes, facet in zip(pictures, facets, strict=True):
            here = of_row if facet is None else of_row[of_row["facet"] == facet]
            for name, (colour, marker) in zip(names, STYLES, strict=False):
                _add_pair(axes, here[here["colour"] == name], colour, marker)
            constant = add_constant(axes, panel, here)
            finish_axes(axes, panel)
            axes.label_outer()
            axes.set_title(_title(panel, row, facet), fontsize="small")
    handles = [
        Line2D([], [], color=colour, marker=marker, mfc="none", label=model_name(str(name)))
        for name, (colour, marker) in zip(names, STYLES, strict=False)
    ]
    handles.append(
        Line2D([], [], color=GREY, marker="o", mfc="none", ls="none", label="simulation")
    )
    handles.append(Line2D([], [], color=GREY, label="theory"))
    finish_figure(figure, panel, [*handles, *constant])
    return figure


def _add_pair(axes: Axes, lines: pd.DataFrame, colour: str, marker: str) -> None:
    """Draw simulated points and the predicted line of one colour."""
    theory = lines["model"].str.endswith("_theory")
    add_curve(axes, lines[theory], colour, {"marker": "", "ls": "-", "lw": 1.4})
    # Hollow, for points that hide each other.
    look = {"marker": marker, "ls": "none", "lw": 1.2, "mfc": "none"}
    add_curve(axes, lines[~theory], colour, look)


def _title(panel: Panel, row: tuple[str | float, ...], facet: str | float | None) -> str:
    """Return what a picture is of: its activation, and its values of y and facet."""
    activation, *y = row
    parts = [str(activation)]
    if y and panel.y is not None:
        parts.append(_value(panel.y, y[0]))
    if facet is not None:
        parts.append(str(facet) if panel.facet is None else _value(panel.facet, facet))
    return ", ".join(parts)


def _value(axis: Axis, value: str | float) -> str:
    """Return a value with the symbol that ends its axis's label, or a text with the label."""
    if isinstance(value, str):
        return f"{axis.label} {value}"
    return f"{axis.label.split()[-1]} = {value:g}"
