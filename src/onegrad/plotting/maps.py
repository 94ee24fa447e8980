"""Heat maps from tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onegrad.describe.numbers import Floats
from onegrad.plotting.view import HeatMap

if TYPE_CHECKING:
    import pandas as pd

Grid = tuple[Floats, Floats, Floats]  # x, y, and values over them, y × x
Grids = dict[str, Grid]  # by title


def value_grid(table: pd.DataFrame, column: str = "value") -> Grid:
    """Return x, y and a column's values over them."""
    wide = table.pivot(index="y", columns="x", values=column).sort_index().sort_index(axis=1)
    return wide.columns.to_numpy(float), wide.index.to_numpy(float), wide.to_numpy(float)


def heat_maps(
    grids: Grids,
    labels: tuple[str, str, str],
    *,
    ends: tuple[float, float] | None = None,
    log: bool = False,
    levels: int = 0,
    downwards: bool = False,
    guides: tuple[tuple[float, str], ...] = (),
) -> tuple[HeatMap, ...]:
    """Return maps that share axes and colours; `labels` are those of x, y and the values.

    Colours end at the least and the largest value of all maps, unless `ends` are given.
    """
    values = np.concatenate([z.ravel() for _, _, z in grids.values()])
    low, high = (float(np.nanmin(values)), float(np.nanmax(values))) if ends is None else ends
    return tuple(
        HeatMap(
            title,
            *labels,
            tuple(x.tolist()),
            tuple(y.tolist()),
            tuple(tuple(row) for row in z.tolist()),
            low,
            high,
            log,
            levels,
            downwards,
            guides,
        )
        for title, (x, y, z) in grids.items()
    )
