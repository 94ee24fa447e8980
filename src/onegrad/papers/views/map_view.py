"""Views of maps: the simulated one beside those of theory and the published one, one scale."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from onegrad.describe.arrays import Floats
from onegrad.papers.panel import Panel
from onegrad.papers.tables.panel_table import CLOSED
from onegrad.papers.tables.value_grids import (
    DEGREES,
    GAP_RANGE,
    Grids,
    fine_grids,
    map_grids,
    value_grid,
)
from onegrad.papers.value_labels import value_label
from onegrad.papers.views.view import HeatMap, View


def map_view(panel: Panel, table: pd.DataFrame) -> View:
    """Return the maps of the panel's metric, coloured from its least to its largest value."""
    return _heat_maps(panel, map_grids(table))


def fine_map_view(panel: Panel, table: pd.DataFrame) -> View:
    """Return the simulated map beside that of theory without draws, which has more points."""
    return _heat_maps(panel, fine_grids(table))


def linear_map_view(panel: Panel, table: pd.DataFrame) -> View:
    """Return the maps of the linear model's gap, coloured by its logarithm."""
    return _heat_maps(panel, map_grids(table), ends=GAP_RANGE, log=True)


def degree_map_view(panel: Panel, table: pd.DataFrame) -> View:
    """Return the map of the smallest sufficient degree, a colour for each."""
    grids = {"theory": value_grid(table)}
    if CLOSED in table and table[CLOSED].notna().any():
        grids[f"{CLOSED} theory"] = value_grid(table, CLOSED)
    top = float(table["y"].max())
    steps = [(d / (d + 1), f"degree {d + 1}") for d in range(1, DEGREES)]
    guides = tuple((y, label) for y, label in steps if y <= top)
    view = _heat_maps(panel, grids, ends=(1, DEGREES), levels=DEGREES)
    return View(maps=tuple(replace(map_, guides=guides) for map_ in view.maps))


def _heat_maps(
    panel: Panel,
    grids: Grids,
    *,
    ends: tuple[float, float] | None = None,
    log: bool = False,
    levels: int = 0,
) -> View:
    """Return maps that share axes and colours."""
    assert panel.y is not None
    values = np.concatenate([z.ravel() for _, _, z in grids.values()])
    low, high = (float(np.nanmin(values)), float(np.nanmax(values))) if ends is None else ends
    labels = panel.x.label, panel.y.label, value_label(panel)
    return View(
        maps=tuple(
            heat_map(title, labels, grid, ends=(low, high), log=log, levels=levels)
            for title, grid in grids.items()
        )
    )


def heat_map(
    title: str,
    labels: tuple[str, str, str],
    grid: tuple[Floats, Floats, Floats],
    *,
    ends: tuple[float, float],
    log: bool = False,
    levels: int = 0,
    downwards: bool = False,
) -> HeatMap:
    """Return one map of values over x and y."""
    x, y, z = grid
    rows = tuple(tuple(row) for row in z.tolist())
    places = tuple(x.tolist()), tuple(y.tolist())
    return HeatMap(title, *labels, *places, rows, *ends, log, levels, downwards)
