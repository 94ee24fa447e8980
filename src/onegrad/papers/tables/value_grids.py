"""Tables of maps as grids: the simulated values beside those of theory and the published ones."""

from __future__ import annotations

import pandas as pd

from onegrad.describe.arrays import Floats
from onegrad.papers.tables.panel_table import CLOSED
from onegrad.papers.tables.published_values import panes

GAP_RANGE = (4.0, 100.0)  # per cent; the colours of gaps end here
DEGREES = 6  # of which colours are known

Grid = tuple[Floats, Floats, Floats]
Grids = dict[str, Grid]  # by title


def value_grid(table: pd.DataFrame, column: str = "value") -> Grid:
    """Return x, y and a column's values over them, y × x."""
    wide = table.pivot(index="y", columns="x", values=column).sort_index().sort_index(axis=1)
    return wide.columns.to_numpy(float), wide.index.to_numpy(float), wide.to_numpy(float)


def map_grids(table: pd.DataFrame) -> Grids:
    """Return the simulated, the predicted and the published values over both axes.

    Those at the published size follow, where the table has them.
    """
    grids: Grids = {}
    for size, part in panes(table).items():
        own = _map_grids(part)
        trained = part["value"].notna().any()
        size = size.partition(" (")[0]
        grids |= own if trained else {f"{title}, {size}": grid for title, grid in own.items()}
    return grids


def _map_grids(table: pd.DataFrame) -> Grids:
    """Return the grids of one size."""
    model = next(name for name in table["model"].unique() if not name.endswith("_theory"))
    simulated = table[table["model"] == model]
    grids = {"simulated": value_grid(simulated)} if simulated["value"].notna().any() else {}
    theory = table[table["model"] == f"{model}_theory"]
    if not theory.empty:
        grids["theory"] = value_grid(theory)
    for column, title in ((CLOSED, f"{CLOSED} theory"), ("published", "published")):
        if column in simulated and simulated[column].notna().any():
            grids[title] = value_grid(simulated, column)
    return grids


def fine_grids(table: pd.DataFrame) -> Grids:
    """Return the simulated values, and those of theory without draws at more points."""
    titles = {"network": "simulated", f"network_{CLOSED}": f"{CLOSED} theory"}
    grids = {}
    for model, title in titles.items():
        x, y, z = value_grid(table[table["model"] == model])
        grids[f"{title}, {len(x)} × {len(y)}"] = x, y, z
    return grids
