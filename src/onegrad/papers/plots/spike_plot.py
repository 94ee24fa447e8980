"""Singular values of features after a step, those outside the bulk in red."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import ScalarFormatter

from onegrad.papers.panel import Panel
from onegrad.papers.plots.style import finish_figure
from onegrad.plotting.look import GRADIENT, LINE

UNTRAINED, OUTSIDE = "#777777", "#CC0000"


def draw_spikes(panel: Panel, table: pd.DataFrame) -> Figure:
    """Return the leading singular values of the features for every exponent."""
    exponents = sorted(table["x"].unique())
    figure = Figure(figsize=(9.6, 4.0), layout="constrained")
    panes = np.atleast_1d(figure.subplots(1, len(exponents), sharey=True))
    for axes, exponent in zip(panes, exponents, strict=True):
        lines = table[table["x"] == exponent]
        observed = int(_value(lines, "observed_first_trial"))
        _add_spectrum(axes, lines, observed)
        axes.set_yscale("log")
        for set_formatter in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
            set_formatter(ScalarFormatter())
        axes.set_title(
            f"a = {exponent:g}\npredicted {_value(lines, 'predicted'):g}, observed {observed}",
            fontsize="medium",
        )
        axes.set_xlabel("j-th largest")
        axes.grid(alpha=0.25, linewidth=0.6, which="both")
    panes[0].set_ylabel("singular value of centred features")
    finish_figure(figure, panel, _legend())
    return figure


def _value(lines: pd.DataFrame, metric: str) -> float:
    """Return the only value of a metric."""
    return lines[lines["metric"] == metric]["value"].iloc[0]


def _add_spectrum(axes: Axes, lines: pd.DataFrame, observed: int) -> None:
    """Draw singular values before and after the step, and the overlap of each outside the bulk."""
    values = lines[lines["metric"] == "singular_value"]
    before = values[values["model"] == "untrained"].sort_values("y")
    after = values[values["model"] == "network"].sort_values("y")
    outside, bulk = after.iloc[:observed], after.iloc[observed:]
    axes.plot(before["y"], before["value"], "_", color=UNTRAINED, ms=6)
    axes.plot(bulk["y"], bulk["value"], ".", color=GRADIENT, ms=5)
    axes.plot(outside["y"], outside["value"], "D", color=OUTSIDE, ms=6)
    axes.axhline(_value(lines, "edge"), color=LINE, lw=0.8, ls="--")
    for index, place in enumerate(zip(outside["y"], outside["value"], strict=True), start=1):
        overlap = lines[(lines["metric"] == f"overlap_{index}") & (lines["y"] == index)]
        if not overlap.empty:
            text = f"H{index}: {overlap['value'].iloc[0]:.2f}"
            axes.annotate(text, place, xytext=(7, -3), textcoords="offset points", fontsize="small")


def _legend() -> list[Line2D]:
    return [
        Line2D([], [], color=UNTRAINED, marker="_", ls="none", label="untrained"),
        Line2D([], [], color=GRADIENT, marker=".", ls="none", label="trained, bulk"),
        Line2D([], [], color=OUTSIDE, marker="D", ls="none", label="outside, with its overlap"),
        Line2D([], [], color=LINE, ls="--", lw=0.8, label="edge of the trained bulk"),
    ]
