"""Tables of maps over two axes: the network's errors, and how far the linear model is off."""

from __future__ import annotations

import numpy as np
import pandas as pd

from onegrad.papers.panel import Panel
from onegrad.papers.tables.curve_table import metric_lines
from onegrad.papers.tables.deviations import Deviation, closed_deviation
from onegrad.papers.tables.panel_table import CLOSED, panel_table, placed_lines
from onegrad.running.table import Results

LARGEST_LINEAR_GAP = 100.0  # per cent; larger ones are shown as this


def map_table(panel: Panel, results: Results) -> pd.DataFrame:
    """Return the network's metric over both axes, simulated and predicted."""
    table = panel_table(panel, results, metric_lines(panel, results))
    return table[table["model"].str.startswith("network")].reset_index(drop=True)


def fine_map_table(panel: Panel, results: Results) -> pd.DataFrame:
    """Return the simulated metric, and that of theory without draws at more points."""
    lines = metric_lines(panel, results)
    # The coarse map's rows of other theory are not shown again.
    shown = (lines["verb"] == "simulate") | (lines["method"] == CLOSED)
    return placed_lines(panel, results, lines[shown])


def fine_map_deviations(panel: Panel, table: pd.DataFrame, results: Results) -> list[Deviation]:
    """Return theory without draws, between its points on straight lines, against simulation."""
    simulated = table[table["model"] == "network"]
    fine = table[table["model"] == "network_closed"]
    values = fine.pivot(index="x", columns="y", values="value").sort_index().sort_index(axis=1)
    grid = values.index.to_numpy(float), values.columns.to_numpy(float)
    from scipy.interpolate import interpn  # late: it takes half a second to import

    closed = interpn(grid, values.to_numpy(float), simulated[["x", "y"]].to_numpy(float))
    lines = simulated.assign(closed=closed)
    return [closed_deviation(lines, panel)]


def linear_map_table(panel: Panel, results: Results) -> pd.DataFrame:
    """Return the linear model's relative gap to the network in per cent over both axes."""
    return panel_table(panel, results, linear_gap_lines(results))


def linear_gap_lines(results: Results) -> pd.DataFrame:
    """Return the linear model's gaps in per cent as value and stderr, beside the sweep's axes."""
    gaps = results.gaps()
    lines = gaps[gaps["model"] == "linear"].copy()
    lines["value"] = np.minimum(100 * lines["gap"].abs(), LARGEST_LINEAR_GAP)
    lines["stderr"] *= 100
    return lines
