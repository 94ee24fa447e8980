"""Views of plots beside each other: simulation as points, theory as lines, a plot per facet."""

from __future__ import annotations

from typing import Any

import pandas as pd

from onegrad.papers.panel import Panel
from onegrad.papers.value_labels import series_label
from onegrad.papers.views.curve_view import constant_curves, plot_of
from onegrad.papers.views.view import Curve, Plot, View, axis_value, curve_of, side_curves, unique
from onegrad.plotting.look import model_name


def points_view(panel: Panel, table: pd.DataFrame) -> View:
    """Return plots by facet, with a colour per model, or per y of a single model.

    Further plots are activations, and values of y where colours are models.
    """
    models = table["model"].str.removesuffix("_theory")
    by_model = models.nunique() > 1 or panel.y is None
    table = table.assign(colour=models if by_model else table["y"])
    rows = ["activation", *(["y"] if by_model and panel.y is not None else [])]
    plots = []
    for row, of_row in table.groupby(rows, sort=False):
        for facet in unique(of_row["facet"]) if "facet" in table else [None]:
            here = of_row if facet is None else of_row[of_row["facet"] == facet]
            names = unique(table["colour"])
            plots.append(_points_plot(panel, here, names, _title(panel, row, facet)))
    return View(plots=tuple(plots))


def _points_plot(panel: Panel, lines: pd.DataFrame, names: list[str | float], title: str) -> Plot:
    """Return simulated points and predicted lines of one facet."""
    curves = []
    for colour, name in enumerate(names):
        own = lines[lines["colour"] == name]
        theory = own["model"].str.endswith("_theory")
        label = model_name(name) if isinstance(name, str) else series_label(panel, name)
        for role, mark, part in (
            ("simulation", "open", own[~theory]),
            ("theory", "line", own[theory]),
        ):
            if not part.empty:
                curves.append(curve_of(part, Curve(label, role, colour, mark)))
        curves += side_curves(own, series=label, colour=colour)
    curves += constant_curves(panel, lines, by=None)
    return plot_of(panel, curves, title)


def _title(panel: Panel, row: tuple[Any, ...], facet: str | float | None) -> str:
    """Return what a plot is of: its activation, and its values of y and facet."""
    activation, *y = row
    parts = [str(activation)]
    if y and panel.y is not None:
        parts.append(axis_value(panel.y, y[0]))
    if facet is not None:
        parts.append(str(facet) if panel.facet is None else axis_value(panel.facet, facet))
    return ", ".join(parts)


def fit_view(panel: Panel, table: pd.DataFrame) -> View:
    """Return networks on real data as points and theory on each fit as a line, plot by plot."""
    fits = sorted(unique(table["y"]))
    plots = []
    for facet in unique(table["facet"]) if "facet" in table else [None]:
        of_facet = table if facet is None else table[table["facet"] == facet]
        for activation in unique(of_facet["activation"]):
            lines = of_facet[of_facet["activation"] == activation]
            real = lines[lines["model"] == "network"]
            curves = [curve_of(real, Curve("real data", "network", 3, "points"))]
            for colour, fit in enumerate(fits):
                theory = lines[lines["y"] == fit]
                name = f"{fit:g} per class"
                curves.append(curve_of(theory, Curve(name, "theory", colour, "line")))
            curves += constant_curves(panel, lines, by=None)
            where = "" if facet is None else f", classes {facet}"
            plots.append(plot_of(panel, curves, f"{activation}{where}"))
    return View(plots=tuple(plots))
