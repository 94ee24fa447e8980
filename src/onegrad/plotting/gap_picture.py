"""Gaps of Hermite models to the network: by degree, or against n with the fitted decay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from onegrad.describe.exceptions import InvalidInput
from onegrad.plotting.canvas import axes_for, finish
from onegrad.plotting.curves_picture import series_colours
from onegrad.plotting.look import GREY, LINE, LONG_DASHES, STYLES, log_x, log_y

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

LABEL = "|gap to network| / network"


@dataclass(frozen=True)
class DecayLine:
    """The fitted |gap| = factor·n^{−exponent} of a degree, over the dimensions it rests on."""

    degree: int
    exponent: float
    stderr: float
    factor: float
    dimensions: tuple[int, ...]


def draw_gaps_by_degree(
    table: pd.DataFrame, *, tolerance: float, theorem: int | None, ax: Any = None
) -> Axes:
    """Return axes with |gap| of every degree, hollow where the model is below the network.

    The tolerance is a dashed line, the theorem's degree an upright one where it is in reach.
    """
    from matplotlib.lines import Line2D

    table = _drawable(table)
    axes = axes_for(ax)
    colour, marker = STYLES[0]
    _add_gaps(axes, table["degree"], table, colour, marker)
    handles = [
        Line2D([], [], color=colour, marker=marker, mfc=fill, ls="none", label=label)
        for fill, label, seen in (
            (colour, "above the network", table["gap"] > 0),
            ("none", "below the network", table["gap"] < 0),
        )
        if seen.any()
    ]
    line = axes.axhline(
        tolerance, color=GREY, ls=LONG_DASHES, lw=1.0, label=f"tolerance {tolerance:g}"
    )
    handles.append(line)
    if theorem is not None and theorem <= int(table["degree"].max()):
        label = f"degree of the theorem: {theorem}"
        handles.append(axes.axvline(theorem, color=LINE, ls=":", lw=1.0, label=label))
    axes.set_xticks(sorted(table["degree"].unique().tolist()))
    log_y(axes)
    return finish(axes, x="degree of the Hermite model", y=LABEL, handles=handles)


def draw_gap_decay(table: pd.DataFrame, fits: Sequence[DecayLine], *, ax: Any = None) -> Axes:
    """Return axes with |gap| against n for every degree, and the fitted power of n as a line."""
    from matplotlib.lines import Line2D

    table = _drawable(table)
    axes = axes_for(ax)
    degrees = sorted(table["degree"].unique().tolist())
    known = {fit.degree: fit for fit in fits}
    handles = []
    for degree, (colour, marker) in zip(degrees, series_colours(len(degrees)), strict=True):
        points = table[table["degree"] == degree].sort_values("dimension")
        _add_gaps(axes, points["dimension"], points, colour, marker)
        label, fit = f"degree {degree}", known.get(degree)
        if fit is not None:
            n = np.array(fit.dimensions, float)
            axes.plot(n, fit.factor * n**-fit.exponent, color=colour, lw=1.2)
            label += f": $n^{{{-fit.exponent:.2f}}}$ ± {fit.stderr:.2f}"
        handles.append(
            Line2D(
                [], [], color=colour, marker=marker, ls="none" if fit is None else "-", label=label
            )
        )
    log_x(axes)
    log_y(axes)
    return finish(axes, x="dimension n", y=LABEL, handles=handles)


def _drawable(table: pd.DataFrame) -> pd.DataFrame:
    """Return the gaps that a logarithmic axis can show."""
    shown = table[np.isfinite(table["gap"]) & (table["gap"] != 0)]
    if shown.empty:
        raise InvalidInput("plot: no gap is a finite number other than 0; raise draws or degrees")
    return shown


def _add_gaps(axes: Axes, x: pd.Series, table: pd.DataFrame, colour: str, marker: str) -> None:
    """Draw |gap| with error bars that stay above 0, hollow where the gap is negative."""
    gap = table["gap"].to_numpy(float)
    size, error = np.abs(gap), np.nan_to_num(table["stderr"].to_numpy(float))
    below = np.minimum(error, 0.9 * size)  # a logarithmic axis has no 0
    axes.errorbar(
        x.to_numpy(float), size, (below, error), color=colour, ls="none", marker="", capsize=2,
        lw=1.0,
    )  # fmt: skip
    axes.plot(x.to_numpy(float), size, color=colour, ls="none", marker=marker, mfc="none")
    above = np.where(gap > 0, size, np.nan)
    axes.plot(x.to_numpy(float), above, color=colour, ls="none", marker=marker)
