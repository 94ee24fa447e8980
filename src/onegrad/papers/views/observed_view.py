"""Views of observed runs: neurons in a plane, singular values, overlaps step by step."""

from __future__ import annotations

import math

import pandas as pd

from onegrad.papers.panel import Panel
from onegrad.papers.tables.value_grids import value_grid
from onegrad.papers.views.map_view import heat_map
from onegrad.papers.views.view import GREY, Curve, Plot, View, curve_of, unique

CIRCLE_POINTS = 49
PARTS = ("gradient", "weights")
NAMES = {"gradient": "gradients", "weights": "weights"}


def plane_view(panel: Panel, table: pd.DataFrame) -> View:
    """Return every neuron in the teacher's plane step by step, then angles and errors."""
    overlaps = table[table["metric"] == "overlap"]
    guides = _plane_guides(table)
    plots = [
        Plot(
            f"step {step:.0f}",
            "cosine with the first direction",
            "cosine with the second",
            (*guides, *_neurons(overlaps[overlaps["y"] == step])),
            square=True,
        )
        for step in sorted(unique(overlaps["y"]))
    ]
    angles = table[table["metric"] == "median_angle"]
    label = "median angle to the predicted direction, °"
    curves = tuple(
        curve_of(
            angles[angles["model"] == part],
            Curve(NAMES[part], "median angle", colour, "joined"),
        )
        for colour, part in enumerate(PARTS)
    )
    return View(plots=(*plots, Plot("angles", "step", label, curves), _error_plot(table)))


def _neurons(lines: pd.DataFrame) -> list[Curve]:
    """Return a dot for every neuron's gradient and weights."""
    curves = []
    for colour, part in reversed([*enumerate(PARTS)]):
        own = lines[lines["model"].str.startswith(part)]
        places = tuple(own["x"].astype(float)), tuple(own["value"].astype(float))
        curves.append(Curve(NAMES[part], "neurons", colour, "dots", *places))
    return curves


def _plane_guides(table: pd.DataFrame) -> tuple[Curve, ...]:
    """Return the predicted first direction and the circle of noise."""
    line = table[table["metric"] == "first_direction"].iloc[0]
    length = math.hypot(line["x"], line["value"])
    ends = [(t * line["x"] / length, t * line["value"] / length) for t in (-1.0, 1.0)]
    radius = float(table[table["metric"] == "noise_radius"]["value"].iloc[0])
    turns = [2 * math.pi * i / (CIRCLE_POINTS - 1) for i in range(CIRCLE_POINTS)]
    circle = [(radius * math.cos(t), radius * math.sin(t)) for t in turns]
    return (
        _guide("predicted first direction", "dashed", ends),
        _guide("noise circle", "line", circle),
    )


def _guide(role: str, mark: str, places: list[tuple[float, float]]) -> Curve:
    x, y = zip(*places, strict=True)
    return Curve("", role, GREY, mark, tuple(x), tuple(y))


def _error_plot(table: pd.DataFrame) -> Plot:
    """Return the test error after every step, simulated and predicted."""
    errors = table[table["metric"] == "test_mse"]
    curves = [
        curve_of(errors[errors["model"] == model], Curve("network", role, 3, mark))
        for model, role, mark in (
            ("network", "test error", "points"),
            ("network_theory", "test error, theory", "line"),
        )
        if (errors["model"] == model).any()
    ]
    return Plot("test error", "step", "test MSE", tuple(curves))


def spike_view(panel: Panel, table: pd.DataFrame) -> View:
    """Return the leading singular values for every exponent, before and after the step."""
    plots = []
    for exponent in sorted(unique(table["x"])):
        lines = table[table["x"] == exponent]
        values = lines[lines["metric"] == "singular_value"].assign(x=lambda v: v["y"])
        curves = [
            curve_of(values[values["model"] == model], Curve(name, role, c, mark))
            for c, (model, name, role, mark) in enumerate(
                (
                    ("network", "after the step", "singular values", "points"),
                    ("untrained", "untrained", "singular values", "open"),
                )
            )
        ]
        edge = float(lines[lines["metric"] == "edge"]["value"].iloc[0])
        ends = [(float(values["x"].min()), edge), (float(values["x"].max()), edge)]
        curves.append(_guide("edge of the trained bulk", "dashed", ends))
        counts = {
            m: lines[lines["metric"] == m]["value"].iloc[0] for m in ("predicted", "observed")
        }
        title = f"a = {exponent:g}: {counts['predicted']:g} spikes predicted"
        labels = "j-th largest", "singular value of centred features"
        plots.append(Plot(title, *labels, tuple(curves), log_y=True))
    return View(plots=tuple(plots))


def timelapse_view(panel: Panel, table: pd.DataFrame) -> View:
    """Return maps of overlaps over steps × directions, and the test error after every step."""
    overlaps = table[table["metric"] == "overlap"]
    labels = "step", "direction of the staircase", "root mean square overlap"
    ends = (0.0, float(overlaps["value"].max()))
    maps = tuple(
        heat_map(
            NAMES[part],
            labels,
            value_grid(overlaps[overlaps["model"] == part]),
            ends=ends,
            downwards=True,
        )
        for part in PARTS
    )
    return View(plots=(_error_plot(table),), maps=maps)
