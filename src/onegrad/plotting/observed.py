"""Observed runs as plots: overlaps, angles and errors step by step, and spectra."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import Floats
from onegrad.plotting.view import BLACK, RED, Curve, Level, Plot, along

if TYPE_CHECKING:
    import pandas as pd

OUTSIDE = Curve("", "outside the bulk", RED, "points", marker=3)
BULK = Curve("", "bulk", 0, "dots")
EDGE = "edge of the bulk"


def step_plot(table: pd.DataFrame, *, y: str, series: Sequence[dict[str, str]]) -> Plot:
    """Return columns of a table against its step.

    `series` has the columns of every colour with their labels; columns of gradients are dashed
    with hollow markers.
    """
    known = [
        {column: label for column, label in group.items() if _is_known(table, column)}
        for group in series
    ]
    known = [group for group in known if group]
    if not known:
        raise _unknown(y)
    curves = [
        along(
            Curve("", label, colour, "joined_open" if column.startswith("gradient") else "joined"),
            table["step"].tolist(),
            table[column].astype(float),
        )
        for colour, group in enumerate(known)
        for column, label in group.items()
    ]
    return Plot("", "step", y, tuple(curves))


def _is_known(table: pd.DataFrame, column: str) -> bool:
    return column in table and bool(table[column].notna().any())


def _unknown(y: str) -> InvalidInput:
    return InvalidInput(f"plot: {y} is not known of this run; draw something else of it")


def spectra_plot(spectra: Sequence[tuple[int, Floats, int, float]], *, y: str) -> Plot:
    """Return the singular values after every step, those outside the bulk in red.

    An entry is the step, its leading values, how many of them are outside, and the bulk's edge.
    """
    if not spectra:
        raise _unknown(y)
    bulk: list[tuple[int, float]] = []
    outliers: list[tuple[int, float]] = []
    for step, values, outside, _ in spectra:
        places = [(step, float(value)) for value in values if value > 0]
        outliers += places[:outside]
        bulk += places[outside:]
    edges = [(step, edge) for step, _, _, edge in spectra]
    curves = (
        _at(BULK, bulk),
        _at(OUTSIDE, outliers),
        _at(Curve("", EDGE, BLACK, "dash"), edges),
    )
    return Plot("", "step", y, curves, log_y=True)


def _at(look: Curve, places: Sequence[tuple[float, float]]) -> Curve:
    return along(look, [x for x, _ in places], [y for _, y in places])


def spectrum_curves(values: Floats, outside: int, overlaps: Floats | None) -> list[Curve]:
    """Return singular values by rank, the overlaps of those outside the bulk beside them.

    `overlaps[i][q − 1]` belongs to the i-th value and the Hermite polynomial of degree q, of which
    the largest is written.
    """
    places = [(rank, float(value)) for rank, value in enumerate(values, start=1)]
    labels = [
        f"H{int(np.argmax(row)) + 1}: {np.max(row):.2f}"
        for row in ([] if overlaps is None else overlaps[:outside])
    ]
    labels += [""] * (outside - len(labels))
    first = along(
        OUTSIDE, range(1, outside + 1), values[:outside], labels=labels if any(labels) else ()
    )
    return [_at(BULK, places[outside:]), first]


def spectrum_plot(
    values: Floats,
    *,
    outside: int | None,
    edge: float,
    y: str,
    overlaps: Floats | None = None,
) -> Plot:
    """Return the singular values by rank, with the edge of the bulk."""
    shown = values[values > 0]
    if not len(shown):
        raise InvalidInput("plot: no singular value is above 0; there is nothing to draw")
    curves = spectrum_curves(shown, min(outside or 0, len(shown)), overlaps)
    levels = (Level(EDGE, edge, "dashed"),)
    return Plot("", "j-th largest", y, tuple(curves), log_y=True, levels=levels)
