"""Tables of the singular values of features after a step, and of those outside the bulk."""

from __future__ import annotations

import pandas as pd

from onegrad.papers.panel import Panel
from onegrad.papers.tables.observed_lines import (
    ObservedLines,
    ObservedRun,
    Setting,
    observed_table,
    with_error,
)
from onegrad.running.table import Results

OVERLAP_DEGREES = 2  # shown in the numbers


def spike_table(panel: Panel, results: Results) -> pd.DataFrame:
    """Return counts and overlaps of spikes over trials, and the spectrum of trial 0."""
    return observed_table(panel, results, _add)


def _add(lines: ObservedLines, setting: Setting, run: ObservedRun) -> None:
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
    exponents = sorted(table["x"].unique())
    return [_sentence(exponent, table[table["x"] == exponent]) for exponent in exponents]


def _sentence(exponent: float, lines: pd.DataFrame) -> str:
    """Return what the lines of one exponent say."""
    counts = {m: lines[lines["metric"] == m].iloc[0] for m in ("predicted", "observed")}
    overlaps = [
        f"{degree}. overlap with degree {degree} "
        + with_error(
            lines[(lines["metric"] == f"overlap_{degree}") & (lines["y"] == degree)].iloc[0], 2
        )
        for degree in range(1, OVERLAP_DEGREES + 1)
    ]
    return (
        f"a = {exponent:g}: predicted {counts['predicted']['value']:g}, observed "
        f"{counts['observed']['value']:g} on average of {counts['observed']['trials']} trials; "
        + ", ".join(overlaps)
    )
