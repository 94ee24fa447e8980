"""The values read off the published plots, and where they stand beside ours."""

from __future__ import annotations

import functools
from importlib import resources

import numpy as np
import pandas as pd

# What the published maps show.
MAPS = {
    "metric": {"4a": "half_test_mse", "4b": "linear_gap_percent"},
    "activation": {"4a": "relu", "4b": "relu"},
    "model": {"4a": "network", "4b": "linear"},
}


# Panels that show another one's values again.
TWINS = {"5b": "1c", "7a": "3a"}


@functools.cache
def published() -> pd.DataFrame:
    """Return the values read off the published plots, with their uncertainty.

    Points of maps have a y; those beyond the ends of a colour scale are left out.
    """
    maps = _read("published_maps.csv").rename(columns={"alpha": "x", "beta": "y"})
    read_off = maps[maps["censored"].isna()].drop(columns="censored")
    for column, values in MAPS.items():
        read_off[column] = read_off["panel"].map(values)
    lines = _read("published.csv")
    again = [lines[lines["panel"] == first].assign(panel=name) for name, first in TWINS.items()]
    return pd.concat([lines, *again, read_off], ignore_index=True)


def _read(name: str) -> pd.DataFrame:
    with resources.files("onegrad.figures").joinpath(name).open() as file:
        return pd.read_csv(file, dtype={"panel": str})


def published_values(table: pd.DataFrame, column: str = "value") -> pd.Series:
    """Return the published value of every line or its uncertainty, NaN where there is none."""
    if not table["panel"].isin(published()["panel"]).any():
        return pd.Series(np.nan, index=table.index)
    ours = table.assign(place=table["x"].astype(float).round(4), height=np.nan)
    if table["panel"].isin(MAPS["model"]).any():
        ours["height"] = table["y"].astype(float).round(4)
    theirs = published().assign(
        place=lambda p: p["x"].round(4),
        height=lambda p: p["y"].round(4),
        theirs=published()[column],
    )
    keys = ["panel", "metric", "activation", "model", "place", "height"]
    merged = ours[keys].merge(theirs[[*keys, "theirs"]], on=keys, how="left")
    return pd.Series(merged["theirs"].to_numpy(), index=table.index)
