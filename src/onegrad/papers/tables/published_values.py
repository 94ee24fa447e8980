"""The values read off the published plots, and where they stand beside ours."""

from __future__ import annotations

import functools
from importlib import resources

import numpy as np
import pandas as pd

from onegrad.papers.panel import Panel
from onegrad.papers.tables.panel_table import CLOSED, COLUMNS, placed_lines
from onegrad.running.table import Results

# What the published maps show.
MAPS = {
    "metric": {"4a": "half_test_mse", "4b": "linear_gap_percent"},
    "activation": {"4a": "relu", "4b": "relu"},
    "model": {"4a": "network", "4b": "linear"},
}


# Panels that show another one's values again.
TWINS = {"5b": "1c", "7a": "3a"}

# Panels whose published values closed theory can be compared with in a moment, at their size.
PANED = frozenset(("1a", "1b", "1c", "2a", "2b", "4a", "4b", "5a", "5b", "5c", "6"))
PANE = "pane"  # the column that tells the trials' size from the published one


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
    with resources.files("onegrad.papers").joinpath(name).open() as file:
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


def published_pane(panel: Panel, results: Results, lines: pd.DataFrame) -> pd.DataFrame:
    """Return closed theory at the published size beside the published values, as a panel's table.

    `results` hold that theory alone, `lines` what the panel shows of it. No line of the table has a
    value: nothing is trained at this size.
    """
    table = placed_lines(panel, results, lines[lines["method"] == CLOSED])
    table["model"] = table["model"].str.removesuffix(f"_{CLOSED}")
    if panel.kind == "map":
        table = table[table["model"] == "network"].reset_index(drop=True)
    table["published"] = published_values(table)
    table.insert(len(COLUMNS), CLOSED, table["value"])
    return table.assign(value=np.nan, stderr=np.nan, trials=0)


def panes(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the table's parts by their titles; a table that has one part has an empty title."""
    if PANE not in table:
        return {"": table}
    return {str(size): part for size, part in table.groupby(PANE, sort=False)}
