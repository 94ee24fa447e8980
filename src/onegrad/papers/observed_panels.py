"""Panels of observed runs: neurons in a plane, spikes of the features, a staircase step by step."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from onegrad.data.joint_teachers import MultiIndex
from onegrad.data.staircase import staircase
from onegrad.papers.curve_panels import curve_of
from onegrad.papers.panel import Panel
from onegrad.papers.panel_kinds import PanelKind
from onegrad.papers.panel_table import COLUMNS, unique
from onegrad.plotting.maps import heat_maps, value_grid
from onegrad.plotting.view import GREY, RED, Curve, Plot, View, along
from onegrad.sweeps.results import Results

PARTS = {"gradient": "gradients", "weights": "weights"}

Setting = dict[str, Any]  # coordinates along the axes, and the fields of the problem
ObservedRun = dict[str, Any]  # what was observed of one trial, as plain values


class ObservedLines:
    """Lines of a table: values of several trials become a mean with its standard error."""

    def __init__(self, panel: Panel, activation: str) -> None:
        self._panel, self._activation = panel, activation
        self._values: dict[tuple[Any, ...], list[float]] = defaultdict(list)

    def add(self, metric: str, model: str, x: tuple[str, float], value: float, **y: float) -> None:
        """Add one trial's value at x = (name, number); y is at most one more coordinate."""
        name, place = next(iter(y.items()), ("", np.nan))
        self._values[metric, model, *x, name, place].append(value)

    def table(self) -> pd.DataFrame:
        """Return the table."""
        lines = []
        for (metric, model, x_name, x, y_name, y), values in self._values.items():
            count = len(values)
            stderr = float(np.std(values, ddof=1) / np.sqrt(count)) if count > 1 else np.nan
            place = [self._panel.name, metric, self._activation, model, x_name, x]
            lines.append([*place, float(np.mean(values)), stderr, count, np.nan, y_name, y])
        return pd.DataFrame(lines, columns=[*COLUMNS, "y_name", "y"])


def observed_table(
    panel: Panel, results: Results, *, add: Callable[[ObservedLines, Setting, ObservedRun], None]
) -> pd.DataFrame:
    """Return the panel's table after `add` has put every run's values into its lines.

    Predicted test errors, if there are any, come as the model network_theory.
    """
    fields = results.contents.settings[0]["fields"]
    lines = ObservedLines(panel, fields["network"]["activation"])
    for setting, run in results.observed():
        add(lines, setting, run)
    trials = results.trials
    theory = trials[(trials["verb"] == "predict") & (trials["metric"] == "test_mse")]
    for line in theory[theory["model"] == "network"].to_dict("records"):
        lines.add("test_mse", "network_theory", ("step", line["step"]), line["value"])
    return lines.table()


def _add_errors(lines: ObservedLines, run: ObservedRun) -> None:
    for step in run["steps"]:
        lines.add("test_mse", "network", ("step", step["step"]), step["test_mse"])


def _with_error(line: pd.Series, digits: int = 1, unit: str = "") -> str:
    """Return a line's value with its standard error, if it has one."""
    error = f" ± {line['stderr']:.{digits}f}" if np.isfinite(line["stderr"]) else ""
    return f"{line['value']:.{digits}f}{error}{unit}"


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


def _guide(role: str, mark: str, places: list[tuple[float, float]]) -> Curve:
    return along(Curve("", role, GREY, mark), [x for x, _ in places], [y for _, y in places])


# Neurons in the plane of two teacher directions.

CIRCLE_POINTS = 49


def _add_neurons(lines: ObservedLines, setting: Setting, run: ObservedRun) -> None:
    """Add median angles and errors, and every neuron's place in trial 0."""
    for name in PARTS:
        for step in run["steps"][1:]:
            at = ("step", step["step"])
            lines.add("median_angle", name, at, step[name]["median_angle"])
            lines.add("outside_fraction", name, at, step[name]["outside_fraction"])
            if run["trial"] == 0:
                for index, (first, second) in enumerate(step[name]["overlaps"]):
                    # A neuron is its own model: its place in the plane is (x, value).
                    model = f"{name} {index}"
                    lines.add("overlap", model, ("overlap_1", first), second, step=step["step"])
    _add_errors(lines, run)
    if run["trial"] == 0:
        first, second = run["first_direction"]
        lines.add("first_direction", "theory", ("overlap_1", first), second)
        lines.add("noise_radius", "theory", ("step", 0), run["noise_radius"])


def plane_numbers(panel: Panel, table: pd.DataFrame) -> list[str]:
    """Return the angles after the first and the last step, and how many gradients are signal."""
    angles = table[table["metric"] == "median_angle"]
    sentences = []
    for name, plural in PARTS.items():
        by_step = angles[angles["model"] == name].sort_values("x")
        first, last = by_step.iloc[0], by_step.iloc[-1]
        sentences.append(
            f"median angle of the {plural} to the predicted direction: "
            f"{_with_error(first, unit='°')} after step 1, "
            f"{_with_error(last, unit='°')} after step {last['x']:.0f}"
        )
    outside = table[(table["metric"] == "outside_fraction") & (table["model"] == "gradient")]
    fraction = outside.sort_values("x").iloc[0]["value"]
    sentences.append(f"gradients outside the noise circle after step 1: {100 * fraction:.1f} %")
    return sentences


def plane_view(panel: Panel, table: pd.DataFrame) -> View:
    """Return every neuron in the teacher's plane step by step, then angles and errors."""
    overlaps = table[table["metric"] == "overlap"]
    guides = _plane_guides(table)
    labels = "cosine with the first direction", "cosine with the second"
    plots = []
    for step in sorted(unique(overlaps["y"])):
        here = overlaps[overlaps["y"] == step]
        neurons = []
        for colour, (part, name) in reversed([*enumerate(PARTS.items())]):
            own = here[here["model"].str.startswith(part)]
            look = Curve(name, "neurons", colour, "dots")
            neurons.append(along(look, own["x"].astype(float), own["value"]))
        plots.append(Plot(f"step {step:.0f}", *labels, (*guides, *neurons), square=True))
    angles = table[table["metric"] == "median_angle"]
    curves = tuple(
        curve_of(angles[angles["model"] == part], Curve(name, "median angle", colour, "joined"))
        for colour, (part, name) in enumerate(PARTS.items())
    )
    label = "median angle to the predicted direction, °"
    plots += [Plot("angles", "step", label, curves), _error_plot(table)]
    return View(plots=tuple(plots), columns=min(4, len(plots)))


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


# Spikes: singular values of features after a step, and those outside the bulk.

OVERLAP_DEGREES = 2  # in the numbers


def _add_spikes(lines: ObservedLines, setting: Setting, run: ObservedRun) -> None:
    """Add counts and overlaps of spikes, and the spectrum of trial 0."""
    x = ("a", setting["coordinates"]["scaling.change_exponent"])
    before, after = (step["features"] for step in run["steps"])
    lines.add("observed", "network", x, after["observed"])
    lines.add("predicted", "theory", x, after["predicted"])
    for index, overlaps in enumerate(after["overlaps"][:OVERLAP_DEGREES], start=1):
        for degree, value in enumerate(overlaps, start=1):
            lines.add(f"overlap_{degree}", "network", x, value, index=index)
    if run["trial"] == 0:
        lines.add("edge", "network", x, after["edge"])
        lines.add("observed_first_trial", "network", x, after["observed"])
        for model, values in (("untrained", before), ("network", after)):
            for index, value in enumerate(values["singular_values"], start=1):
                lines.add("singular_value", model, x, value, index=index)


def spike_numbers(panel: Panel, table: pd.DataFrame) -> list[str]:
    """Return predicted and observed spikes for every exponent, with their overlaps."""
    sentences = []
    for exponent, lines in table.groupby("x"):
        counts = {m: lines[lines["metric"] == m].iloc[0] for m in ("predicted", "observed")}
        overlaps = [
            f"{degree}. overlap with degree {degree} "
            + _with_error(_overlap(lines, degree).iloc[0], 2)
            for degree in range(1, OVERLAP_DEGREES + 1)
        ]
        sentences.append(
            f"a = {exponent:g}: predicted {counts['predicted']['value']:g}, observed "
            f"{counts['observed']['value']:g} on average of {counts['observed']['trials']} trials; "
            + ", ".join(overlaps)
        )
    return sentences


def _overlap(lines: pd.DataFrame, degree: int) -> pd.DataFrame:
    """Return the overlap of the singular value of that rank with the polynomial of that degree."""
    return lines[(lines["metric"] == f"overlap_{degree}") & (lines["y"] == degree)]


def spike_view(panel: Panel, table: pd.DataFrame) -> View:
    """Return the leading singular values for every exponent, before and after the step."""
    exponents = sorted(unique(table["x"]))
    plots = tuple(_spike_plot(exponent, table[table["x"] == exponent]) for exponent in exponents)
    return View(plots=plots, columns=len(plots))


def _spike_plot(exponent: float, lines: pd.DataFrame) -> Plot:
    """Return singular values by rank, those outside the bulk in red with their overlaps."""
    values = lines[lines["metric"] == "singular_value"].assign(x=lambda v: v["y"])
    after = values[values["model"] == "network"].sort_values("y")
    numbers = {
        name: float(lines[lines["metric"] == name]["value"].iloc[0])
        for name in ("edge", "predicted", "observed_first_trial")
    }
    outside = int(numbers["observed_first_trial"])
    overlaps = [
        f"H{rank}: {own['value'].iloc[0]:.2f}" if len(own := _overlap(lines, rank)) else ""
        for rank in range(1, outside + 1)
    ]
    spikes = Curve("", "outside, with its overlap", RED, "points", marker=3)
    curves = [
        curve_of(values[values["model"] == "untrained"], Curve("", "untrained", GREY, "line")),
        curve_of(after.iloc[outside:], Curve("", "trained, bulk", 0, "points")),
        _guide(
            "edge of the trained bulk",
            "dashed",
            [(float(rank), numbers["edge"]) for rank in (values["x"].min(), values["x"].max())],
        ),
    ]
    if outside:
        first = after.iloc[:outside]
        curves.append(along(spikes, first["y"], first["value"], labels=overlaps))
    title = f"a = {exponent:g}: {numbers['predicted']:g} predicted, {outside} observed"
    return Plot(
        title, "j-th largest", "singular value of centred features", tuple(curves), log_y=True
    )


# A staircase: overlaps with its directions, step by step.


def _add_stairs(lines: ObservedLines, setting: Setting, run: ObservedRun) -> None:
    """Add root mean square overlaps over steps × directions, and errors."""
    teacher = setting["fields"]["teacher"]
    described = MultiIndex(links=teacher["links"], combine=teacher["combine"])
    basis = staircase(described).subspaces[-1]
    for name in PARTS:
        for step in run["steps"]:
            if step[name] is None:
                continue
            overlaps = np.asarray(step[name]["overlaps"]) @ basis
            for stair, value in enumerate(np.sqrt(np.mean(overlaps**2, axis=0)), start=1):
                lines.add("overlap", name, ("step", step["step"]), float(value), direction=stair)
    lines.add("noise", "theory", ("step", 0), 1 / np.sqrt(setting["fields"]["dimension"]))
    _add_errors(lines, run)


def timelapse_numbers(panel: Panel, table: pd.DataFrame) -> list[str]:
    """Return for every direction when the weights found it, and how well at the end."""
    noise = table[table["metric"] == "noise"]["value"].iloc[0]
    weights = table[(table["metric"] == "overlap") & (table["model"] == "weights")]
    sentences = []
    for stair, overlaps in weights.groupby("y"):
        above = overlaps[overlaps["value"] > 2 * noise].sort_values("x")
        when = f"from step {above['x'].iloc[0]:.0f} on" if len(above) else "never"
        last = overlaps.sort_values("x").iloc[-1]
        sentences.append(
            f"direction {stair:.0f}: weights' overlap above twice the noise {when}, "
            f"{_with_error(last, 2)} after step {last['x']:.0f}"
        )
    return sentences


def timelapse_view(panel: Panel, table: pd.DataFrame) -> View:
    """Return maps of overlaps over steps × directions, and the test error after every step."""
    overlaps = table[table["metric"] == "overlap"]
    grids = {name: value_grid(overlaps[overlaps["model"] == part]) for part, name in PARTS.items()}
    labels = "step", "direction of the staircase", "root mean square overlap"
    ends = (0.0, float(overlaps["value"].max()))
    return View(
        plots=(_error_plot(table),), maps=heat_maps(grids, labels, ends=ends, downwards=True)
    )


KINDS: dict[str, PanelKind] = {
    name: PanelKind(partial(observed_table, add=add), numbers=numbers, view=view)
    for name, add, numbers, view in (
        ("plane", _add_neurons, plane_numbers, plane_view),
        ("spikes", _add_spikes, spike_numbers, spike_view),
        ("timelapse", _add_stairs, timelapse_numbers, timelapse_view),
    )
}
