"""The same values as curves against either of two axes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from onegrad.papers.panel import Panel
from onegrad.papers.plots.curve_plot import add_curves
from onegrad.papers.plots.style import finish_axes, finish_figure
from onegrad.plotting.look import STYLES


def draw_two_ways(panel: Panel, table: pd.DataFrame) -> Figure:
    """Return the curves against x, one per y, and beside them against y, one per some of the x."""
    assert panel.y is not None
    figure = Figure(figsize=(10.0, 4.2), layout="constrained")
    turned = replace(panel, x=panel.y, y=panel.x)
    places = np.sort(table["x"].unique())
    kept = places[np.linspace(0, len(places) - 1, min(len(places), len(STYLES))).astype(int)]
    swapped = table[table["x"].isin(kept)].rename(columns={"x": "y", "y": "x"})
    for axes, way, lines in zip(
        figure.subplots(1, 2, sharey=True), (panel, turned), (table, swapped), strict=True
    ):
        handles = add_curves(axes, way, lines)
        finish_axes(axes, way)
        axes.legend(handles=handles, frameon=False, fontsize="x-small", ncols=2, loc="upper right")
        low, high = axes.get_ylim()
        axes.set_ylim(low, high * (high / low) ** 0.25 if panel.log_value else 1.3 * high)
    finish_figure(figure, panel)
    return figure
