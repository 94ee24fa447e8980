"""Curves: simulation as markers with error bars, models as lines, theory thin.

Theory without draws is dash-dotted, for the network alone: that of the Hermite model mostly hides
it, and is in the table.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from onegrad.papers.panel import Panel
from onegrad.papers.plots.style import add_constant, finish_axes, finish_figure
from onegrad.papers.tables.panel_table import CLOSED
from onegrad.papers.tables.published_values import panes
from onegrad.papers.value_labels import series_label
from onegrad.plotting.look import STYLES, model_name

PUBLISHED = "#444444"
CLOSED_LOOK: dict[str, Any] = {"marker": "", "ls": (0, (7, 1.5, 1, 1.5)), "lw": 0.9}


def draw_curves(panel: Panel, table: pd.DataFrame) -> Figure:
    """Return the models' curves with a colour per activation, or per value of a second axis."""
    parts = panes(table)
    figure = Figure(figsize=(6.6 if len(parts) == 1 else 10.4, 4.6), layout="constrained")
    handles: dict[str, Line2D] = {}
    for axes, (title, part) in zip(
        figure.subplots(1, len(parts), squeeze=False)[0], parts.items(), strict=True
    ):
        handles |= {str(h.get_label()): h for h in reversed(add_curves(axes, panel, part))}
        finish_axes(axes, panel)
        axes.set_title(title, loc="left", fontsize="medium")
    finish_figure(figure, panel, [*handles.values()])
    return figure


def finish_picture(figure: Figure, axes: Axes, panel: Panel, handles: list[Line2D]) -> None:
    """Label a picture of one pair of axes, with the legend below it."""
    finish_axes(axes, panel)
    finish_figure(figure, panel, handles)


def add_curves(axes: Axes, panel: Panel, table: pd.DataFrame) -> list[Line2D]:
    """Draw every curve and return the legend: colours for series, grey for kinds of lines."""
    handles = []
    for (label, group), (colour, marker) in zip(_series(panel, table), STYLES, strict=False):
        for model, lines in group.dropna(subset="value").groupby("model", sort=False):
            look = _look(str(model))
            add_curve(axes, lines, colour, {**look, "marker": look["marker"] and marker})
        if has_closed(group):
            own = group[group["model"] == "network"]
            add_curve(axes, own.assign(value=own[CLOSED]), colour, CLOSED_LOOK)
        theirs = group[(group["model"] == "network") & group["published"].notna()]
        if not theirs.empty:
            axes.plot(theirs["x"], theirs["published"], "x", color=PUBLISHED, ms=5, zorder=3)
        handles.append(Line2D([], [], color=colour, marker=marker, ls="none", label=label))
    handles += [
        Line2D([], [], color="#777777", label=model_name(model), **_look(model))
        for model in table.dropna(subset="value")["model"].unique()
    ]
    if has_closed(table):
        label = f"network, {CLOSED} theory"
        handles.append(Line2D([], [], color="#777777", label=label, **CLOSED_LOOK))
    if table["published"].notna().any():
        handles.append(Line2D([], [], color=PUBLISHED, marker="x", ls="none", label="published"))
    by = "activation" if panel.y is None else "y"
    return [*handles, *add_constant(axes, panel, table, by=by)]


def has_closed(table: pd.DataFrame) -> bool:
    """Return whether theory without draws stands beside any of the lines."""
    return CLOSED in table and bool(table[CLOSED].notna().any())


def add_curve(axes: Axes, lines: pd.DataFrame, colour: str, look: dict[str, Any]) -> None:
    """Draw one model's curve, with error bars where it has markers."""
    ordered = lines.sort_values("x")
    x, value = ordered["x"].to_numpy(float), ordered["value"].to_numpy(float)
    if look["marker"]:
        error = ordered["stderr"].to_numpy(float)
        axes.errorbar(x, value, error, color=colour, capsize=2, ms=5, **look)
    else:
        axes.plot(x, value, color=colour, **look)


def _look(model: str) -> dict[str, Any]:
    """Return how a model is drawn: markers, a line, or a thin line for theory."""
    if model.endswith("_theory"):
        return {"marker": "", "ls": ":" if model.startswith("network") else "--", "lw": 1.0}
    if model == "network":
        return {"marker": "o", "ls": "none", "lw": 1.2}
    return {"marker": "", "ls": "-", "lw": 1.8}


def _series(panel: Panel, table: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return what gets a colour of its own: activations, or values of a second axis."""
    if panel.y is not None:
        return [(series_label(panel, v), table[table["y"] == v]) for v in table["y"].unique()]
    names = table["activation"].unique()
    return [(series_label(panel, name), table[table["activation"] == name]) for name in names]
