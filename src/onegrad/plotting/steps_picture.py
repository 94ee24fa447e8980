"""What a network learns step by step: errors, overlaps and angles against the step; spectra."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import InvalidInput
from onegrad.plotting.canvas import axes_for, finish
from onegrad.plotting.curves_picture import series_colours
from onegrad.plotting.look import GRADIENT, LINE, OUTSIDE, log_y

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

REACH = 0.32  # half the width of the dash that a step's edge is


def draw_by_step(
    table: pd.DataFrame, *, y: str, series: Sequence[dict[str, str]], ax: Any = None
) -> Axes:
    """Return axes with columns of the table against its step.

    `series` names the columns of every colour with their labels; columns of gradients are dashed
    with hollow markers.
    """
    known = [
        {column: label for column, label in group.items() if _is_known(table, column)}
        for group in series
    ]
    known = [group for group in known if group]
    if not known:
        raise InvalidInput(f"plot: {y} is not known of this run; draw something else of it")
    axes = axes_for(ax)
    step = table["step"].to_numpy(float)
    handles = []
    for group, (colour, marker) in zip(known, series_colours(len(known)), strict=True):
        for column, label in group.items():
            gradient = column.startswith("gradient")
            (line,) = axes.plot(
                step, table[column].to_numpy(float), color=colour, marker=marker, ms=5, lw=1.4,
                ls="--" if gradient else "-", mfc="none" if gradient else colour, label=label,
            )  # fmt: skip
            handles.append(line)
    axes.set_xticks(sorted(set(step.tolist())))
    return finish(axes, x="step", y=y, handles=handles)


def _is_known(table: pd.DataFrame, column: str) -> bool:
    return column in table and bool(table[column].notna().any())


def draw_spectra(
    spectra: Sequence[tuple[int, Floats, int, float]], *, y: str, ax: Any = None
) -> Axes:
    """Return axes with the singular values after every step, those outside the bulk in red.

    An entry is the step, its leading values, how many of them are outside, and the bulk's edge.
    """
    if not spectra:
        raise InvalidInput(f"plot: {y} is not known of this run; draw something else of it")
    axes = axes_for(ax)
    for step, values, outside, edge in spectra:
        values = values[values > 0]
        places = np.full(len(values), float(step))
        axes.plot(places[outside:], values[outside:], ".", color=GRADIENT, ms=4, alpha=0.6)
        axes.plot(places[:outside], values[:outside], "D", color=OUTSIDE, ms=5)
        axes.plot([step - REACH, step + REACH], [edge, edge], color=LINE, lw=0.9, ls="--")
    log_y(axes)
    axes.set_xticks([step for step, *_ in spectra])
    return finish(axes, x="step", y=y, handles=_spectrum_legend())


def draw_spectrum(
    values: Floats,
    *,
    outside: int | None,
    edge: float,
    y: str,
    overlaps: Floats | None = None,
    ax: Any = None,
) -> Axes:
    """Return axes with singular values by rank; overlaps are written beside those outside.

    `overlaps[i][q − 1]` belongs to the i-th value and the Hermite polynomial of degree q, of which
    the largest is written.
    """
    shown = values[values > 0]
    if not len(shown):
        raise InvalidInput("plot: no singular value is above 0; there is nothing to draw")
    axes = axes_for(ax)
    ranks, count = np.arange(1, len(shown) + 1), outside or 0
    axes.plot(ranks[count:], shown[count:], ".", color=GRADIENT, ms=5)
    axes.plot(ranks[:count], shown[:count], "D", color=OUTSIDE, ms=6)
    axes.axhline(edge, color=LINE, lw=0.9, ls="--")
    for i in range(min(count, 0 if overlaps is None else len(overlaps))):
        assert overlaps is not None
        degree = int(np.argmax(overlaps[i])) + 1
        text = f"H{degree}: {overlaps[i][degree - 1]:.2f}"
        axes.annotate(
            text, (ranks[i], shown[i]), xytext=(7, -3), textcoords="offset points", fontsize="small"
        )
    log_y(axes)
    return finish(axes, x="j-th largest", y=y, handles=_spectrum_legend())


def _spectrum_legend() -> list[Any]:
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], color=OUTSIDE, marker="D", ls="none", ms=5, label="outside the bulk"),
        Line2D([], [], color=GRADIENT, marker=".", ls="none", label="bulk"),
        Line2D([], [], color=LINE, ls="--", lw=0.9, label="edge of the bulk"),
    ]
