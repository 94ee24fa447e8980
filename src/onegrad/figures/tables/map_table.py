"""Tables of maps over two axes: the network's errors, and how far the linear model is off."""

from __future__ import annotations

import numpy as np
import pandas as pd

from onegrad.figures.panel import Panel
from onegrad.figures.tables.curve_table import curve_table
from onegrad.figures.tables.panel_table import panel_table
from onegrad.running.table import Results

LARGEST_LINEAR_GAP = 100.0  # per cent; larger ones are shown as this


def map_table(panel: Panel, results: Results) -> pd.DataFrame:
    """Return the network's metric over both axes, simulated and predicted."""
    table = curve_table(panel, results)
    return table[table["model"].str.startswith("network")].reset_index(drop=True)


def linear_map_table(panel: Panel, results: Results) -> pd.DataFrame:
    """Return the linear model's relative gap to the network in per cent over both axes."""
    gaps = results.gaps()
    lines = gaps[gaps["model"] == "linear"].copy()
    lines["value"] = np.minimum(100 * lines["gap"].abs(), LARGEST_LINEAR_GAP)
    lines["stderr"] *= 100
    return panel_table(panel, results, lines)
