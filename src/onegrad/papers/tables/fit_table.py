"""Tables of networks on real data beside theory on mixtures of several sizes fitted to them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from onegrad.papers.panel import Panel
from onegrad.papers.tables.curve_table import curve_table
from onegrad.papers.tables.deviations import Deviation, deviation
from onegrad.running.table import Results


def fit_table(panel: Panel, results: Results) -> pd.DataFrame:
    """Return the metric of trained networks, and of theory for each fit, whose size is y."""
    table = curve_table(panel, results)
    # Networks are trained on the data themselves, once for all fits.
    table["y"] = table["y"].astype(float).where(table["model"].str.endswith("_theory"))
    return table.drop_duplicates().reset_index(drop=True)


def fit_deviations(panel: Panel, table: pd.DataFrame, results: Results) -> list[Deviation]:
    """Return theory against trained networks for each fit, for the largest in every facet too.

    Means are compared, not pairs: few trials have a prediction of their own.
    """
    place = [name for name in ("facet", "activation", "x") if name in table]
    lines = _theory_beside_networks(table, place)
    by_fit = [
        (f"theory on {y:g} Gaussian{'s' if y != 1 else ''} per class", lines[lines["y"] == y])
        for y in np.sort(lines["y"].unique())
    ]
    largest, finest = by_fit[-1]
    parts = [
        (f"{largest}: {', '.join(str(name) for name in names)}", group)
        for names, group in finest.groupby([c for c in place if c != "x"], sort=False)
    ]
    return [
        *(deviation(name, group, panel) for name, group in by_fit),
        *(deviation(name, group, panel, total="") for name, group in parts),
    ]


def _theory_beside_networks(table: pd.DataFrame, place: list[str]) -> pd.DataFrame:
    """Return every prediction's relative gap to the trained networks at the same place."""
    real = table[table["model"] == "network"][[*place, "value", "stderr"]]
    theory = table[table["model"] == "network_theory"][[*place, "y", "value", "stderr"]]
    lines = theory.merge(real, on=place, suffixes=("_theory", ""))
    lines["gap"] = lines["value_theory"] / lines["value"] - 1
    lines["stderr"] = np.hypot(lines["stderr_theory"], lines["stderr"]) / lines["value"]
    return lines
