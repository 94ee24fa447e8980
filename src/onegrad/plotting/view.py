"""A view: what a picture shows, as plain data.

`matplotlib_figure.py` draws a view as a figure, the report's script draws it in a browser.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

DIGITS = 6  # of numbers in the report; the table has all of them
GREY, BLACK, RED = -1, -2, -3  # colours that belong to no series


@dataclass(frozen=True)
class Curve:
    """Values along x with a name, drawn by `mark`.

    Marks are those of `style.MARKS`. `series` is whose values they are, `role` which kind of
    values; a legend has an entry for each of both, and the report a switch. `colour` counts series
    from 0, or is GREY, BLACK or RED. `marker` has the shape of another colour's marker.
    """

    series: str
    role: str
    colour: int
    mark: str
    x: tuple[Any, ...] = ()  # numbers, or words
    y: tuple[float, ...] = ()
    stderr: tuple[float, ...] = ()
    trials: tuple[int, ...] = ()
    band: tuple[float, ...] = ()  # half the height of a band around the values
    labels: tuple[str, ...] = ()  # written beside the points
    marker: int | None = None

    @property
    def name(self) -> str:
        """The series with the role."""
        return ", ".join(part for part in (self.series, self.role) if part)


@dataclass(frozen=True)
class Level:
    """A straight line across a plot at some y, or at some x if `upright`."""

    name: str
    at: float
    mark: str = "longdash"
    upright: bool = False


@dataclass(frozen=True)
class Plot:
    """A pair of axes with curves; `square` has equal scales and both axes in view."""

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    log_x: bool = False
    log_y: bool = False
    square: bool = False
    levels: tuple[Level, ...] = ()


@dataclass(frozen=True)
class HeatMap:
    """Values over two axes, `rows` by y; `levels` are whole numbers with colours of their own.

    `low` and `high` end the colours; `guides` are lines across at some y, with their meaning.
    """

    title: str
    x_label: str
    y_label: str
    value_label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    rows: tuple[tuple[float, ...], ...]
    low: float
    high: float
    log: bool = False
    levels: int = 0
    downwards: bool = False  # the first y on top
    guides: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True)
class View:
    """Plots and maps side by side, `columns` in a row (0: as many as fit).

    Plots with the same labels share their axes, unless `shared` is False.
    """

    plots: tuple[Plot, ...] = ()
    maps: tuple[HeatMap, ...] = ()
    columns: int = 0
    shared: bool = True

    def to_plain(self) -> dict[str, Any]:
        """Return the view as JSON can hold it: short numbers, null for NaN."""
        plain: dict[str, Any] = _shortened(asdict(self))
        return plain


def _shortened(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _shortened(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_shortened(entry) for entry in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    return value


def along(curve: Curve, x: Iterable[Any], y: Iterable[float], **more: Iterable[Any]) -> Curve:
    """Return the curve with these values; `more` are its other fields of one entry per point."""
    others: dict[str, Any] = {name: tuple(values) for name, values in more.items()}
    return replace(curve, x=tuple(x), y=tuple(float(value) for value in y), **others)
