"""Errors after one step against the size of its batch."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onegrad.papers.panel import Panel
from onegrad.papers.plots.style import add_constant, finish_figure
from onegrad.plotting.look import GRADIENT, WEIGHTS

CURVES = {  # model: colour, marker, label
    "untrained": ("#777777", "D", "untrained network"),
    "untrained, subtracted": ("#AA9955", "v", "untrained, subtracted"),
    "one step": (WEIGHTS, "s", "one step"),
    "one step, subtracted": (GRADIENT, "o", "one step, subtracted"),
    "one step, subtracted by moments": ("#009E73", "^", "… by moments, as published"),
}
PUBLISHED = "#000000"


def draw_batches(panel: Panel, table: pd.DataFrame) -> Figure:
    """Return test errors against log N/log d: markers on the same batch, lines for theory."""
    figure = Figure(figsize=(7.6, 5.0), layout="constrained")
    axes = figure.add_subplot()
    for model, (colour, marker, label) in CURVES.items():
        curve = table[table["model"] == model].sort_values("x")
        axes.errorbar(
            curve["x"].to_numpy(float),
            curve["value"].to_numpy(float),
            np.nan_to_num(curve["stderr"].to_numpy(float)),
            color=colour,
            marker=marker,
            ls="none",
            ms=5,
            capsize=2,
            label=label,
        )
        theory = table[table["model"] == f"{model}_theory"].sort_values("x")
        axes.plot(theory["x"], theory["value"], color=colour, lw=1.1)
    _add_published(axes, table)
    axes.plot([], [], color="#777777", lw=1.1, label="theory, fresh samples")
    axes.set(xlabel="batch size, log N / log d", ylabel="test MSE")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.25, linewidth=0.6)
    handles = axes.get_legend_handles_labels()[0]
    finish_figure(figure, panel, [*handles, *add_constant(axes, panel, table)])
    return figure


def _add_published(axes: Axes, table: pd.DataFrame) -> None:
    """Mark the published values, where the size is theirs."""
    beside = table[table["published"].notna()]
    if not beside.empty:
        axes.plot(beside["x"], beside["published"], "x", color=PUBLISHED, ms=7, label="published")
