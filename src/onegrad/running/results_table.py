"""The table of a sweep's results: one metric per setting and model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from onegrad.describe.screen import ScreenTable

if TYPE_CHECKING:
    import pandas as pd


def results_table(
    frame: pd.DataFrame,
    axes: list[str],
    *,
    metric: str = "test_mse",
    title: str = "",
    constants: Mapping[str, float] | None = None,
) -> ScreenTable:
    """Return mean and standard error of one metric per setting and model.

    `constants` are the errors of the best constant by setting, a column where any is known.
    """
    known = constants or {}
    varied = [axis for axis in axes if frame[axis].nunique(dropna=False) > 1]
    varied += [name for name in ("seed", "step", "ridge", "method") if frame[name].nunique() > 1]
    words = (*varied, "verb", "model")
    rows = []
    for row in frame[frame["metric"] == metric].to_dict("records"):
        mean, stderr = row["mean"], row["stderr"]
        number = f"{mean:.5g} ± {stderr:.2g}" if np.isfinite(stderr) else f"{mean:.5g}"
        constant = [_cell(known.get(row["setting"], ""))] if known else []
        place = (_cell(row[str(name)]) for name in words)
        rows.append((*place, number, *constant, str(row["count"])))
    return ScreenTable(
        (*words, metric, *(["best constant"] if known else []), "trials"),
        tuple(rows),
        title=title,
        caption=f"{metric}, mean ± standard error; to_frame and --csv have the other metrics",
        left=len(words),
    )


def _cell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
