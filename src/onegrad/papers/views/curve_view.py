"""Views of curves: one plot, the same values two ways, gaps by degree, errors by batch size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from onegrad.papers.panel import Panel
from onegrad.papers.tables.constant_lines import constant_lines
from onegrad.papers.tables.panel_table import CLOSED
from onegrad.papers.tables.published_values import panes
from onegrad.papers.value_labels import series_label, value_label
from onegrad.papers.views.view import Curve, Plot, View, curve_of, side_curves, unique
from onegrad.plotting.look import CONSTANT_LABEL, model_name

WAYS = 5  # curves of the second way


def curve_view(panel: Panel, table: pd.DataFrame) -> View:
    """Return the models' curves with a colour per activation, or per value of a second axis."""
    return View(
        plots=tuple(
            replace(_curve_plot(panel, part), title=title) for title, part in panes(table).items()
        )
    )


def two_ways_view(panel: Panel, table: pd.DataFrame) -> View:
    """Return the curves against x, and beside them against y for some of the x."""
    assert panel.y is not None
    places = np.sort(table["x"].unique())
    kept = places[np.linspace(0, len(places) - 1, min(len(places), WAYS)).astype(int)]
    swapped = table[table["x"].isin(kept)].rename(columns={"x": "y", "y": "x"})
    turned = replace(panel, x=panel.y, y=panel.x)
    return View(plots=(_curve_plot(panel, table), _curve_plot(turned, swapped)))


def _curve_plot(panel: Panel, table: pd.DataFrame) -> Plot:
    """Return one pair of axes with every curve."""
    column = "activation" if panel.y is None else "y"
    curves: list[Curve] = []
    for colour, value in enumerate(unique(table[column])):
        lines, name = table[table[column] == value], series_label(panel, value)
        for model, of_model in lines.dropna(subset="value").groupby("model", sort=False):
            role, mark = model_name(str(model)), model_mark(str(model))
            curves.append(curve_of(of_model, Curve(name, role, colour, mark)))
        curves += side_curves(lines, series=name, colour=colour)
    curves += constant_curves(panel, table, by=column)
    return plot_of(panel, curves)


def plot_of(panel: Panel, curves: list[Curve], title: str = "") -> Plot:
    """Return a pair of axes labelled as the panel's."""
    return Plot(
        title, panel.x.label, value_label(panel), tuple(curves), panel.x.log, panel.log_value
    )


def model_mark(model: str) -> str:
    """Return how a model is drawn: markers for the network, lines for others, thin for theory."""
    if model.endswith("_theory"):
        return "dotted" if model.startswith("network") else "dashed"
    return "points" if model == "network" else "line"


def constant_curves(panel: Panel, table: pd.DataFrame, *, by: str | None) -> list[Curve]:
    """Return the best constant predictor's lines, where they are near the other values."""
    return [
        Curve(
            "",
            CONSTANT_LABEL,
            line.series,
            "longdash",
            tuple(line.x.tolist()),
            tuple(line.value.tolist()),
        )
        for line in constant_lines(panel, table, by=by)
    ]


def gap_view(panel: Panel, table: pd.DataFrame) -> View:
    """Return the gap of every degree as a curve with markers."""
    degrees = table["model"].str.extract(r"(\d+)", expand=False)
    curves = []
    for colour, degree in enumerate(unique(degrees)):
        lines, name = table[degrees == degree], f"degree {degree}"
        curves.append(curve_of(lines, Curve(name, "theory", colour, "joined")))
        if CLOSED in lines and lines[CLOSED].notna().any():
            look = Curve(name, f"{CLOSED} theory", colour, "dashdot")
            curves.append(curve_of(lines, look, column=CLOSED))
    return View(plots=(plot_of(panel, curves),))


def batch_view(panel: Panel, table: pd.DataFrame) -> View:
    """Return errors against the size of the batch, those on its own samples as markers."""
    fresh = ", fresh samples"
    models = [m for m in unique(table["model"]) if not m.endswith(("_theory", fresh))]
    looks = {"": ("on the step's samples", "points"), fresh: ("on fresh samples", "open")}
    curves = []
    for colour, model in enumerate(models):
        for suffix, (role, mark) in {**looks, "_theory": ("theory, fresh samples", "line")}.items():
            lines = table[table["model"] == model + suffix]
            if not lines.empty:
                curves.append(curve_of(lines, Curve(model, role, colour, mark)))
        theirs = table[(table["model"] == model) & table["published"].notna()]
        if not theirs.empty:
            look = Curve(model, "published", colour, "cross")
            curves.append(curve_of(theirs, look, column="published"))
    curves += constant_curves(panel, table, by=None)
    return View(plots=(plot_of(panel, curves),))
