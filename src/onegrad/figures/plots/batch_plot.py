"""Errors after one step against the size of its batch."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from onegrad.figures.giant_study import GiantPanel
from onegrad.figures.plots.style import GRADIENT, WEIGHTS

CURVES = {  # model: colour, marker, line, label
    "untrained": ("#777777", "D", "--", "untrained network"),
    "untrained, subtracted": ("#777777", "v", ":", "untrained, subtracted"),
    "one step": (WEIGHTS, "s", "-", "one step"),
    "one step, subtracted": (GRADIENT, "o", "-", "one step, subtracted"),
}


def draw_batches(panel: GiantPanel, table: pd.DataFrame) -> Figure:
    """Return test errors against log N/log d."""
    figure = Figure(figsize=(7.2, 4.2), layout="constrained")
    axes = figure.add_subplot()
    errors = table[table["metric"] == "test_mse"]
    for model, (colour, marker, line, label) in CURVES.items():
        curve = errors[errors["model"] == model].sort_values("x")
        axes.errorbar(
            curve["x"].to_numpy(float),
            curve["value"].to_numpy(float),
            np.nan_to_num(curve["stderr"].to_numpy(float)),
            color=colour,
            marker=marker,
            ls=line,
            ms=5,
            lw=1.3,
            capsize=2,
            label=label,
        )
    axes.set(xlabel="batch size, log N / log d", ylabel="test MSE")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.25, linewidth=0.6)
    figure.legend(loc="outside right upper", frameon=False, fontsize="small")
    axes.set_title(panel.name, loc="left", fontweight="bold")
    return figure
