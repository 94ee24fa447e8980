"""Tables of errors after one step against the size of its batch, and what theory says of them."""

from __future__ import annotations

import pandas as pd

from onegrad.papers.panel import Panel
from onegrad.papers.tables.constant_predictor import with_constant
from onegrad.papers.tables.deviations import Deviation, deviation
from onegrad.papers.tables.panel_table import panel_table
from onegrad.running.table import Results

BATCH, SUBTRACT = "readout.batch", "training.subtract"
SUFFIXES = {"none": "", "linear": ", subtracted", "moments": ", subtracted by moments"}
NAMES = {"network": "one step", "untrained": "untrained"}


def batch_table(panel: Panel, results: Results) -> pd.DataFrame:
    """Return errors before and after the step against log N/log n, means over trials.

    A readout on the step's own batch, as published, has the plain name; one on fresh samples, which
    theory describes, says so.
    """
    means = results.to_frame()
    lines = means[means["metric"] == "test_mse"].copy()
    lines["value"] = lines["mean"]
    lines["model"] = _labels(lines)
    return with_constant(panel, results, lines, panel_table(panel, results, lines))


def _labels(lines: pd.DataFrame) -> pd.Series:
    names = lines["model"].map(NAMES) + lines[SUBTRACT].map(SUFFIXES)
    fresh = (lines[BATCH] == "fresh") & (lines["verb"] == "simulate")
    return names.where(~fresh, names + ", fresh samples")


def batch_deviations(panel: Panel, table: pd.DataFrame, results: Results) -> list[Deviation]:
    """Return theory against simulation on fresh samples, and ours against published."""
    gaps = results.theory_gaps("test_mse")
    simulated = table[table["model"].str.endswith(", fresh samples")]
    deviations = []
    for name, label in NAMES.items():
        for subtract, suffix in SUFFIXES.items():
            part = gaps[(gaps["model"] == name) & (gaps[SUBTRACT] == subtract)]
            lines = part[["gap", "stderr"]].assign(x=part[panel.x.path])
            of_model = simulated[simulated["model"] == f"{label}{suffix}, fresh samples"]
            lines = lines.merge(of_model[["x", "value"]], on="x")
            if not lines.empty:
                what = f"theory against simulation, {label}{suffix}"
                deviations.append(deviation(what, lines, panel))
    beside = table[table["published"].notna()]
    if not beside.empty:
        lines = beside.assign(gap=beside["value"] / beside["published"] - 1)
        lines["stderr"] = beside["stderr"] / beside["published"]
        deviations.append(deviation("ours against published", lines, panel))
    return deviations


def batch_numbers(panel: Panel, table: pd.DataFrame) -> list[str]:
    """Return how the errors at the largest batch compare, and whether they fell up to there."""
    errors = table.pivot(index="x", columns="model", values="value")
    last = errors.iloc[-1]
    subtracted = last["one step, subtracted"]
    falling = errors["one step, subtracted"][errors.index >= 1.3]
    words = "falls monotonically" if falling.is_monotonic_decreasing else "does not fall everywhere"
    return [
        f"at κ = {errors.index[-1]:g} the step with subtraction has {subtracted:.4f} (by moments, "
        f"as published, {last['one step, subtracted by moments']:.4f}): "
        f"{subtracted / last['untrained']:.3f} times the untrained network's "
        f"{last['untrained']:.4f}, {subtracted / last['one step']:.3f} times the step's without "
        f"subtraction ({last['one step']:.4f}), "
        f"{subtracted / last['untrained, subtracted']:.3f} times that of untrained features with "
        f"subtraction ({last['untrained, subtracted']:.4f})",
        f"with subtraction the error {words} for κ from 1.3 on",
    ]
