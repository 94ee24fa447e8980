"""Tables of neurons in the plane of two teacher directions, step by step."""

from __future__ import annotations

from typing import Any

import pandas as pd

from onegrad.figures.giant_runs import GiantRun, RunResults
from onegrad.figures.giant_study import GiantPanel
from onegrad.figures.tables.giant_lines import GiantLines, giant_table, with_error


def plane_table(panel: GiantPanel, runs: RunResults) -> pd.DataFrame:
    """Return median angles and errors over trials, and every neuron's place in trial 0."""
    return giant_table(panel, runs, _add)


def _add(lines: GiantLines, run: GiantRun, result: dict[str, Any]) -> None:
    for name in ("gradient", "weights"):
        for step in result["steps"][1:]:
            at = ("step", step["step"])
            lines.add("median_angle", name, at, step[name]["median_angle"])
            lines.add("outside_fraction", name, at, step[name]["outside_fraction"])
            if run.trial == 0:
                for index, (first, second) in enumerate(step[name]["overlaps"]):
                    # A neuron is its own model: its place in the plane is (x, value).
                    model = f"{name} {index}"
                    lines.add("overlap", model, ("overlap_1", first), second, step=step["step"])
    for step in result["steps"]:
        lines.add("test_mse", "network", ("step", step["step"]), step["test_mse"])
    if run.trial == 0:
        first, second = result["first_direction"]
        lines.add("first_direction", "theory", ("overlap_1", first), second)
        lines.add("noise_radius", "theory", ("step", 0), result["noise_radius"])


def plane_numbers(panel: GiantPanel, table: pd.DataFrame) -> list[str]:
    """Return the angles after the first and the last step, and how many gradients are signal."""
    angles = table[table["metric"] == "median_angle"]
    sentences = []
    for name in ("gradient", "weights"):
        by_step = angles[angles["model"] == name].sort_values("x")
        first, last = by_step.iloc[0], by_step.iloc[-1]
        sentences.append(
            f"median angle of the {'gradients' if name == 'gradient' else name} to the predicted "
            f"direction: {with_error(first, unit='°')} after step 1, "
            f"{with_error(last, unit='°')} after step {last['x']:.0f}"
        )
    outside = table[(table["metric"] == "outside_fraction") & (table["model"] == "gradient")]
    fraction = outside.sort_values("x").iloc[0]["value"]
    sentences.append(f"gradients outside the noise circle after step 1: {100 * fraction:.1f} %")
    return sentences
