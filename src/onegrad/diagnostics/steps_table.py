"""The table of observed steps: what the network has learned after each, means over trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from onegrad.describe.said_numbers import with_error
from onegrad.describe.screen import ScreenTable

if TYPE_CHECKING:
    from onegrad.diagnostics.records import StepsResult

SHOWN_NUMBERS = 8  # of the first direction


def steps_table(runs: Sequence[StepsResult], *, constant: float | None = None) -> ScreenTable:
    """Return a row per step, means over trials; with the best constant's test MSE where given."""
    summary = _summary([run.lines() for run in runs if run.records])
    columns = summary[0][0] if summary else {}
    overlaps = [name for name in columns if name.startswith("weight_overlap")]
    many = len(overlaps) > 1
    named = [f"overlaps w 1…{len(overlaps)}" if many else "overlap w"] if overlaps else []
    titles = ["step", "test MSE", "angle g", "angle w", "outside g", *named]
    rows = [tuple(_cells(means, errors, overlaps)) for means, errors in summary]
    if constant is not None:
        rows.append(("best constant", f"{constant:.5g}", *[""] * (len(titles) + 1)))
    first = runs[0]
    which = f"trial {first.trial}" if len(runs) == 1 else f"{len(runs)} trials"
    return ScreenTable(
        (*titles, "rank", "spikes", "predicted"),
        tuple(rows),
        title=f"Steps: {which}, seed {first.seed}",
        caption=_caption(runs),
        left=0,
    )


Line = dict[str, float]


def _summary(runs: Sequence[Sequence[Mapping[str, Any]]]) -> list[tuple[Line, Line]]:
    """Return mean and standard error over runs of every column, for every step."""
    out = []
    for lines in zip(*runs, strict=True):
        means, errors = {}, {}
        for name in lines[0]:
            given = [float(line[name]) for line in lines if line.get(name) is not None]
            values = np.array([value for value in given if value == value])  # NaN: there is none
            means[name] = float(values.mean()) if len(values) else np.nan
            errors[name] = (
                float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan
            )
        out.append((means, errors))
    return out


def _cells(means: Line, errors: Line, overlaps: list[str]) -> list[str]:
    """Return the line of one step."""

    def number(name: str, form: str, unit: str = "", factor: float = 1.0) -> str:
        mean = factor * float(means[name])
        return "" if mean != mean else f"{mean:{form}}{unit}"  # NaN: there is none

    cells = [
        f"{means['step']:g}",
        with_error(float(means["test_mse"]), float(errors["test_mse"])),
        number("gradient_angle", ".1f", "°"),
        number("weight_angle", ".1f", "°"),
        number("gradient_outside", ".1f", " %", 100.0),
    ]
    if overlaps:
        cells.append(" ".join(number(name, ".3f") for name in overlaps))
    return [*cells, *(number(n, ".3g") for n in ("change_rank", "spikes", "predicted_spikes"))]


def _caption(runs: Sequence[StepsResult]) -> str:
    first = runs[0]
    problem, count = first.problem, len(runs)
    line = ", ".join(f"{v:.3g}" for v in np.ravel(first.first_direction)[:SHOWN_NUMBERS])
    leap = ""
    if first.leap_degree:
        index = first.leap_index
        leap = (
            f", leap index {f'none up to degree {first.leap_degree}' if index is None else index}"
        )
    return (
        f"n = {problem.dimension}, k = {problem.width}, N = {problem.samples_per_step}, "
        f"{problem.network.activation}, rule {problem.training.rule}; first direction ({line})"
        f"{leap}; noise radius {first.noise_radius:.3f}; {count} trial{'s' if count > 1 else ''}, "
        f"seed {first.seed}, ± standard error. Angles are medians in degrees to the first "
        "direction's line; rank: singular values of the weight change outside its bulk; spikes: of "
        "the features, outside theirs."
    )
