"""Tables of neurons in the plane of two teacher directions, step by step."""

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


def plane_table(panel: Panel, results: Results) -> pd.DataFrame:
    """Return median angles and errors over trials, and every neuron's place in trial 0."""
    return observed_table(panel, results, _add)


def _add(lines: ObservedLines, setting: Setting, run: ObservedRun) -> None:
    for name in ("gradient", "weights"):
        for step in run["steps"][1:]:
            at = ("step", step["step"])
            lines.add("median_angle", name, at, step[name]["median_angle"])
            lines.add("outside_fraction", name, at, step[name]["outside_fraction"])
            if run["trial"] == 0:
                for index, (first, second) in enumerate(step[name]["overlaps"]):
                    # A neuron is its own model: its place in the plane is (x, value).
                    model = f"{name} {index}"
                    lines.add("overlap", model, ("overlap_1", first), second, step=step["step"])
    for step in run["steps"]:
        lines.add("test_mse", "network", ("step", step["step"]), step["test_mse"])
    if run["trial"] == 0:
        first, second = run["first_direction"]
        lines.add("first_direction", "theory", ("overlap_1", first), second)
        lines.add("noise_radius", "theory", ("step", 0), run["noise_radius"])


def plane_numbers(panel: Panel, table: pd.DataFrame) -> list[str]:
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
