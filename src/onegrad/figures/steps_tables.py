"""Tables of giant steps: the same columns as the other panels', and the numbers to read off."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pandas as pd

from onegrad.figures.steps_runs import Run
from onegrad.figures.steps_study import StepsPanel
from onegrad.figures.tables import COLUMNS
from onegrad.steps.staircase import staircase

Found = list[tuple[Run, dict[str, Any]]]
OVERLAP_DEGREES = 2  # shown in the numbers of a panel of spikes


class _Lines:
    """Lines of a table: values of several trials become a mean with its standard error."""

    def __init__(self, panel: StepsPanel, activation: str) -> None:
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
            mine = [self._panel.name, metric, self._activation, model, x_name, x]
            lines.append([*mine, float(np.mean(values)), stderr, count, np.nan, y_name, y])
        return pd.DataFrame(lines, columns=[*COLUMNS, "y_name", "y"])


def steps_table(panel: StepsPanel, found: Found) -> pd.DataFrame:
    """Return the panel's table: means over trials, single neurons and spectra of trial 0."""
    lines = _Lines(panel, found[0][0].problem.activation)
    fill = {"plane": _plane, "curves": _curves, "spikes": _spikes, "timelapse": _timelapse}
    for run, result in found:
        fill[panel.kind](lines, run, result)
    return lines.table()


def _plane(lines: _Lines, run: Run, result: dict[str, Any]) -> None:
    for name in ("gradient", "weights"):
        for step in result["steps"][1:]:
            at = ("step", step["step"])
            lines.add("median_angle", name, at, step[name]["median_angle"])
            lines.add("outside_fraction", name, at, step[name]["outside_fraction"])
            if run.trial == 0:
                for index, (one, two) in enumerate(step[name]["overlaps"]):
                    # A neuron is its own model: its place in the plane is (x, value).
                    model = f"{name} {index}"
                    lines.add("overlap", model, ("overlap_1", one), two, step=step["step"])
    for step in result["steps"]:
        lines.add("test_mse", "network", ("step", step["step"]), step["test_mse"])
    if run.trial == 0:
        one, two = result["first_direction"]
        lines.add("first_direction", "theory", ("overlap_1", one), two)
        lines.add("noise_radius", "theory", ("step", 0), result["noise_radius"])


def _curves(lines: _Lines, run: Run, result: dict[str, Any]) -> None:
    x = ("log N/log d", run.coordinates["batch_exponent"])
    suffix = "" if run.coordinates["subtract"] == "none" else ", subtracted"
    untrained, trained = result["steps"]
    lines.add("test_mse", f"one step{suffix}", x, trained["test_mse"])
    lines.add("test_mse", f"untrained{suffix}", x, untrained["test_mse"])
    lines.add("strongest_overlap", f"one step{suffix}", x, max(trained["gradient"]["overlap"]))


def _spikes(lines: _Lines, run: Run, result: dict[str, Any]) -> None:
    x = ("a", run.coordinates["step_size.exponent"])
    before, after = (step["features"] for step in result["steps"])
    lines.add("observed", "network", x, after["observed"])
    lines.add("predicted", "theory", x, after["predicted"])
    for index, overlaps in enumerate(after["overlaps"][:OVERLAP_DEGREES], start=1):
        for degree, value in enumerate(overlaps, start=1):
            lines.add(f"overlap_{degree}", "network", x, value, index=index)
    if run.trial == 0:
        lines.add("edge", "network", x, after["edge"])
        lines.add("observed_first_trial", "network", x, after["observed"])
        for model, values in (("untrained", before), ("network", after)):
            for index, value in enumerate(values["singular_values"], start=1):
                lines.add("singular_value", model, x, value, index=index)


def _timelapse(lines: _Lines, run: Run, result: dict[str, Any]) -> None:
    basis = staircase(run.problem.teacher).subspaces[-1]
    for name in ("gradient", "weights"):
        for step in result["steps"]:
            if step[name] is None:
                continue
            overlaps = np.asarray(step[name]["overlaps"]) @ basis
            for stair, value in enumerate(np.sqrt(np.mean(overlaps**2, axis=0)), start=1):
                lines.add("overlap", name, ("step", step["step"]), float(value), direction=stair)
    lines.add("noise", "theory", ("step", 0), 1 / np.sqrt(run.problem.dimension))
    for step in result["steps"]:
        lines.add("test_mse", "network", ("step", step["step"]), step["test_mse"])


def key_numbers(panel: StepsPanel, table: pd.DataFrame) -> list[str]:
    """Return what the picture says in numbers, one sentence each."""
    return {
        "plane": _plane_numbers,
        "curves": _curve_numbers,
        "spikes": _spike_numbers,
        "timelapse": _time_numbers,
    }[panel.kind](table)


def _with_error(line: pd.Series, digits: int = 1, unit: str = "") -> str:
    error = f" ± {line['stderr']:.{digits}f}" if np.isfinite(line["stderr"]) else ""
    return f"{line['value']:.{digits}f}{error}{unit}"


def _plane_numbers(table: pd.DataFrame) -> list[str]:
    angles = table[table["metric"] == "median_angle"]
    out = []
    for name in ("gradient", "weights"):
        mine = angles[angles["model"] == name].sort_values("x")
        first, last = mine.iloc[0], mine.iloc[-1]
        out.append(
            f"median angle of the {'gradients' if name == 'gradient' else name} to the predicted "
            f"direction: {_with_error(first, unit='°')} after step 1, "
            f"{_with_error(last, unit='°')} after step {last['x']:.0f}"
        )
    outside = table[(table["metric"] == "outside_fraction") & (table["model"] == "gradient")]
    first = outside.sort_values("x").iloc[0]
    out.append(f"gradients outside the noise circle after step 1: {100 * first['value']:.1f} %")
    return out


def _curve_numbers(table: pd.DataFrame) -> list[str]:
    errors = table[table["metric"] == "test_mse"].pivot(index="x", columns="model", values="value")
    last = errors.iloc[-1]
    subtracted = last["one step, subtracted"]
    falling = errors["one step, subtracted"][errors.index >= 1.3]
    words = "falls monotonically" if falling.is_monotonic_decreasing else "does not fall everywhere"
    return [
        f"at κ = {errors.index[-1]:g} the step with subtraction has {subtracted:.4f}: "
        f"{subtracted / last['untrained']:.3f} times the untrained network's "
        f"{last['untrained']:.4f}, {subtracted / last['one step']:.3f} times the step's without "
        f"subtraction ({last['one step']:.4f}), "
        f"{subtracted / last['untrained, subtracted']:.3f} times that of untrained features with "
        f"subtraction ({last['untrained, subtracted']:.4f})",
        f"with subtraction the error {words} for κ from 1.3 on",
    ]


def _spike_numbers(table: pd.DataFrame) -> list[str]:
    out = []
    for exponent in sorted(table["x"].unique()):
        mine = table[table["x"] == exponent]
        counts = {m: mine[mine["metric"] == m].iloc[0] for m in ("predicted", "observed")}
        overlaps = [
            f"{degree}. overlap with degree {degree} "
            + _with_error(
                mine[(mine["metric"] == f"overlap_{degree}") & (mine["y"] == degree)].iloc[0], 2
            )
            for degree in range(1, OVERLAP_DEGREES + 1)
        ]
        out.append(
            f"a = {exponent:g}: predicted {counts['predicted']['value']:g}, observed "
            f"{counts['observed']['value']:g} on average of {counts['observed']['trials']} trials; "
            + ", ".join(overlaps)
        )
    return out


def _time_numbers(table: pd.DataFrame) -> list[str]:
    noise = table[table["metric"] == "noise"]["value"].iloc[0]
    weights = table[(table["metric"] == "overlap") & (table["model"] == "weights")]
    out = []
    for stair, mine in weights.groupby("y"):
        seen = mine[mine["value"] > 2 * noise].sort_values("x")
        when = f"from step {seen['x'].iloc[0]:.0f} on" if len(seen) else "never"
        last = mine.sort_values("x").iloc[-1]
        out.append(
            f"direction {stair:.0f}: weights' overlap above twice the noise {when}, "
            f"{_with_error(last, 2)} after step {last['x']:.0f}"
        )
    return out
