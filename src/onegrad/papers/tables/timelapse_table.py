"""Tables of overlaps with the directions of a staircase, step by step."""

from __future__ import annotations

import numpy as np
import pandas as pd

from onegrad.data.multi_index import MultiIndex
from onegrad.data.staircase import staircase
from onegrad.papers.panel import Panel
from onegrad.papers.tables.observed_lines import (
    ObservedLines,
    ObservedRun,
    Setting,
    observed_table,
    with_error,
)
from onegrad.running.table import Results


def timelapse_table(panel: Panel, results: Results) -> pd.DataFrame:
    """Return root mean square overlaps over steps × directions, and errors, means over trials."""
    return observed_table(panel, results, _add)


def _add(lines: ObservedLines, setting: Setting, run: ObservedRun) -> None:
    teacher = setting["fields"]["teacher"]
    described = MultiIndex(links=teacher["links"], combine=teacher["combine"])
    basis = staircase(described).subspaces[-1]
    for name in ("gradient", "weights"):
        for step in run["steps"]:
            if step[name] is None:
                continue
            overlaps = np.asarray(step[name]["overlaps"]) @ basis
            for stair, value in enumerate(np.sqrt(np.mean(overlaps**2, axis=0)), start=1):
                lines.add("overlap", name, ("step", step["step"]), float(value), direction=stair)
    lines.add("noise", "theory", ("step", 0), 1 / np.sqrt(setting["fields"]["dimension"]))
    for step in run["steps"]:
        lines.add("test_mse", "network", ("step", step["step"]), step["test_mse"])


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
            f"{with_error(last, 2)} after step {last['x']:.0f}"
        )
    return sentences
