"""The best constant predictor as lines of a picture, where they are near its other values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from onegrad.describe.arrays import Floats
from onegrad.papers.panel import Panel
from onegrad.papers.tables.constant_predictor import CONSTANT
from onegrad.plotting.look import is_near


@dataclass(frozen=True)
class ConstantLine:
    """The best constant's error along x; `series` counts whose it is where they differ, else −1."""

    series: int
    x: Floats
    value: Floats


def constant_lines(panel: Panel, table: pd.DataFrame, *, by: str | None) -> list[ConstantLine]:
    """Return the lines that fit into the picture, one for each value of the column `by`.

    One stands for all where all are the same.
    """
    if CONSTANT not in table or not _is_near(panel, table):
        return []
    groups = [table] if by is None else [group for _, group in table.groupby(by, sort=False)]
    lines = []
    for series, group in enumerate(groups):
        means = group.dropna(subset=CONSTANT).groupby("x")[CONSTANT].mean()
        if len(means):
            lines.append(ConstantLine(series, means.index.to_numpy(float), means.to_numpy(float)))
    first = lines[0] if lines else None
    if first is not None and all(_same(first, line) for line in lines):
        return [ConstantLine(-1, first.x, first.value)]
    return lines


def _same(one: ConstantLine, other: ConstantLine) -> bool:
    """Return whether two lines coincide."""
    return one.x.shape == other.x.shape and bool(np.allclose(one.value, other.value, rtol=1e-3))


def _is_near(panel: Panel, table: pd.DataFrame) -> bool:
    """Return whether the constants lie within the picture's values or a little above them."""
    constants = table[CONSTANT].dropna().to_numpy(float)
    values = table["value"].dropna().to_numpy(float)
    return is_near(constants, values, log=panel.log_value)


def constant_words(panel: Panel, table: pd.DataFrame) -> str:
    """Return a sentence about the best constant predictor, nothing where it is not known."""
    if CONSTANT not in table or not table[CONSTANT].notna().any():
        return ""
    low, high = table[CONSTANT].min(), table[CONSTANT].max()
    value = f"{low:.3g}" if high - low <= 1e-3 * high else f"{low:.3g} to {high:.3g}"
    where = "long dashes" if _is_near(panel, table) else "beyond the picture"
    return (
        f"The best constant prediction, which looks at no input, has {value} ({where}); from the "
        "exact law of the labels."
    )
