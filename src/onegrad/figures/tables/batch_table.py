"""Tables of errors after one step against the size of its batch."""

from __future__ import annotations

from typing import Any

import pandas as pd

from onegrad.figures.giant_runs import GiantRun, RunResults
from onegrad.figures.giant_study import GiantPanel
from onegrad.figures.tables.giant_lines import GiantLines, giant_table


def batch_table(panel: GiantPanel, runs: RunResults) -> pd.DataFrame:
    """Return errors before and after the step against log N/log d, means over trials."""
    return giant_table(panel, runs, _add)


def _add(lines: GiantLines, run: GiantRun, result: dict[str, Any]) -> None:
    x = ("log N/log d", run.coordinates["batch_exponent"])
    suffix = "" if run.coordinates["subtract"] == "none" else ", subtracted"
    untrained, trained = result["steps"]
    lines.add("test_mse", f"one step{suffix}", x, trained["test_mse"])
    lines.add("test_mse", f"untrained{suffix}", x, untrained["test_mse"])
    lines.add("strongest_overlap", f"one step{suffix}", x, max(trained["gradient"]["overlap"]))


def batch_numbers(panel: GiantPanel, table: pd.DataFrame) -> list[str]:
    """Return how the errors at the largest batch compare, and whether they fell up to there."""
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
