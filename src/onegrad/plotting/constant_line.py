"""The best constant beside the curves of a picture: long dashes, or words where it is far above."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from onegrad.describe.arrays import Floats
from onegrad.plotting.look import CONSTANT, CONSTANT_LABEL, LONG_DASHES, is_near

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

COLUMN = "constant"
ALIKE = 1e-3  # relative: constants that differ by less are one


def constant_entries(
    axes: Axes, table: pd.DataFrame, value: float | None, *, log: bool
) -> list[Artist]:
    """Draw the best constant where it is near, once on the same axes, and return its entry.

    It is the given value, or the column `constant` of the table, where it may differ from point to
    point. What is too far above is said in the entry.
    """
    places = _places(table, value)
    if not len(places) or any(_is_constant(line) for line in axes.lines):
        return []
    constants = places[COLUMN].to_numpy(float)
    look: dict[str, Any] = {"color": CONSTANT, "ls": LONG_DASHES, "lw": 1.0, "zorder": 1}
    if not is_near(constants, table["value"].to_numpy(float), log=log):
        label = f"{CONSTANT_LABEL}: {said_constants(constants)}, beyond"
        return list(axes.plot([], [], label=label, **look))
    if constants.max() - constants.min() <= ALIKE * constants.max():
        return [axes.axhline(float(constants.mean()), label=CONSTANT_LABEL, **look)]
    drawn: list[Artist] = []
    for _, points in places.groupby("hue", sort=False, dropna=False):
        means = points.groupby("x", sort=points["x"].dtype.kind in "iuf")[COLUMN].mean()
        label = "_more constants" if drawn else CONSTANT_LABEL
        drawn += axes.plot(means.index.tolist(), means.to_numpy(float), label=label, **look)
    return drawn[:1]


def said_constants(values: Floats) -> str:
    """Return one number, or the range of several."""
    low, high = float(values.min()), float(values.max())
    return f"{low:.3g}" if high - low <= ALIKE * high else f"{low:.3g} to {high:.3g}"


def _places(table: pd.DataFrame, value: float | None) -> pd.DataFrame:
    """Return the points of the table at which a best constant is known."""
    if value is not None:
        table = table.assign(**{COLUMN: value})
    elif COLUMN not in table:
        return table.iloc[:0]
    return table[np.isfinite(table[COLUMN].to_numpy(float))]


def _is_constant(line: Artist) -> bool:
    return str(line.get_label()).startswith(CONSTANT_LABEL)
