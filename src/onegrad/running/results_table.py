"""The table of a sweep's results: one metric per setting and model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onegrad.describe.screen import ScreenTable

if TYPE_CHECKING:
    import pandas as pd


def results_table(
    frame: pd.DataFrame, axes: list[str], *, metric: str = "test_mse", title: str = ""
) -> ScreenTable:
    """Return mean and standard error of one metric per setting and model."""
    varied = [axis for axis in axes if frame[axis].nunique(dropna=False) > 1]
    varied += [name for name in ("seed", "step", "ridge", "method") if frame[name].nunique() > 1]
    words = (*varied, "verb", "model")
    rows = []
    for row in frame[frame["metric"] == metric].to_dict("records"):
        mean, stderr = row["mean"], row["stderr"]
        number = f"{mean:.5g} ± {stderr:.2g}" if np.isfinite(stderr) else f"{mean:.5g}"
        rows.append((*(_cell(row[str(name)]) for name in words), number, str(row["count"])))
    return ScreenTable(
        (*words, metric, "trials"),
        tuple(rows),
        title=title,
        caption=f"{metric}, mean ± standard error; to_frame and --csv have the other metrics",
        left=len(words),
    )


def _cell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
