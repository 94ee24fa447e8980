"""Results of sweeps as a labelled data set: a variable per metric, a dimension per axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.paths import last_words

if TYPE_CHECKING:
    import pandas as pd
    import xarray


def sweep_dataset(frame: pd.DataFrame, axes: Sequence[str]) -> xarray.Dataset:
    """Return every metric's mean, its `…_stderr`, and `count`, by axis, verb, model and ridge.

    `frame` is the table of means. Axes that move together share one dimension; the others are
    coordinates along it.
    """
    leading: dict[str, str] = {}
    for axis in axes:
        same = (a for a in leading.values() if _together(frame, a, axis))
        leading[axis] = next(same, axis)
    steps = ["step"] if frame["step"].nunique() > 1 else []
    fixed = ["verb", "model", *steps, "ridge"]
    index = [axis for axis in axes if leading[axis] == axis] + fixed
    if frame.duplicated([*index, "metric"]).any():
        raise InvalidInput(
            "results: several seeds or methods in a folder have no view by axes; use to_frame"
        )
    data = _variables(frame, index)
    for axis, leader in leading.items():
        if axis != leader:
            pairs = frame.drop_duplicates(leader).set_index(leader)[axis]
            data = data.assign_coords({axis: (leader, pairs.loc[data[leader].values].values)})
    names = last_words(axes, taken=[*fixed, *(str(name) for name in data.data_vars)])
    return data.rename(names)


def _variables(frame: pd.DataFrame, index: list[str]) -> xarray.Dataset:
    """Return means, standard errors and counts over the columns of an index."""
    table = frame.set_index([*index, "metric"])[["mean", "stderr", "count"]].to_xarray()
    data = table[["count"]].max("metric")
    for name in (str(metric) for metric in frame["metric"].unique()):
        data[name] = table["mean"].sel(metric=name, drop=True)
        data[f"{name}_stderr"] = table["stderr"].sel(metric=name, drop=True)
    return data


def _together(frame: pd.DataFrame, axis: str, other: str) -> bool:
    """Return whether each value on one axis goes with one value on the other, and back."""
    pairs = frame[[axis, other]].drop_duplicates()
    return (
        len(pairs) > 1
        and not pairs[axis].duplicated().any()
        and not pairs[other].duplicated().any()
    )
