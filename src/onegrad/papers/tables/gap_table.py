"""Tables of gaps between network and Hermite models: their size, and which degree closes them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from onegrad.papers.panel import Panel
from onegrad.papers.tables.panel_table import panel_table
from onegrad.running.table import Results

SUFFICIENT_GAP = 0.02


def gap_table(panel: Panel, results: Results) -> pd.DataFrame:
    """Return each model's absolute relative gap to the network."""
    return panel_table(panel, results, _sizes(results))


def degree_table(panel: Panel, results: Results) -> pd.DataFrame:
    """Return the smallest Hermite degree within 2 % of the network, NaN where none is."""
    assert panel.y is not None
    lines = []
    place = ["method", panel.x.path, panel.y.path]
    for where, group in _sizes(results).groupby(place, sort=False):
        degrees = group["model"].str.removeprefix("hermite:").astype(int)
        enough = degrees[group["value"] <= SUFFICIENT_GAP]
        smallest = float(enough.min()) if len(enough) else np.nan
        lines.append((*where, "predict", "smallest_degree", smallest, np.nan, group["count"].max()))
    columns = [*place, "verb", "model", "value", "stderr", "count"]
    return panel_table(panel, results, pd.DataFrame(lines, columns=columns))


def _sizes(results: Results) -> pd.DataFrame:
    """Return the relative gaps to the network with their size as the value."""
    gaps = results.gaps()
    return gaps.assign(value=gaps["gap"].abs())
