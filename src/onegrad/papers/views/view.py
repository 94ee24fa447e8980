"""What a view is: plots of curves and heat maps, with names by which curves are switched off."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import pandas as pd

from onegrad.papers.panel import Axis
from onegrad.papers.tables.panel_table import CLOSED
from onegrad.plotting.look import model_name

BRACKETS = str.maketrans("", "", "[]\"'")  # of lists, where they stand in labels
DIGITS = 6  # of numbers in the page; all of them are in the table
GREY = -1  # the colour of what belongs to no series


@dataclass(frozen=True)
class Curve:
    """Numbers with a name, drawn by `mark`: points, line, dotted, dashed, dashdot, cross or dots.

    `series` and `role` are what a reader switches on and off: whose numbers, and which kind of
    them; `colour` counts series, −1 is grey.
    """

    series: str
    role: str
    colour: int
    mark: str
    x: tuple[float, ...] = ()
    y: tuple[float, ...] = ()
    stderr: tuple[float, ...] = ()
    trials: tuple[int, ...] = ()


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


@dataclass(frozen=True)
class HeatMap:
    """Values over two axes, `rows` by y; `levels` are whole numbers with colours of their own.

    `low` and `high` end the colours; `guides` are lines across at some y, with what they mean.
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
    """Everything that the report draws of a panel."""

    plots: tuple[Plot, ...] = ()
    maps: tuple[HeatMap, ...] = ()

    def to_plain(self) -> dict[str, Any]:
        """Return the view as JSON can hold it: short numbers, null for what is none."""
        plain: dict[str, Any] = _plain(asdict(self))
        return plain


def _plain(value: Any) -> Any:
    """Return values with numbers cut to a few digits; what JSON has no word for becomes None."""
    if isinstance(value, dict):
        return {name: _plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    return value


def curve_of(lines: pd.DataFrame, look: Curve, *, column: str = "value") -> Curve:
    """Return lines of a table along x, named and drawn as `look`, with errors where measured."""
    known = lines[lines[column].notna()].sort_values("x")
    measured = column == "value"
    return replace(
        look,
        x=tuple(float(x) for x in known["x"]),
        y=tuple(float(y) for y in known[column]),
        stderr=tuple(float(e) for e in known["stderr"]) if measured else (),
        trials=tuple(int(n) for n in known["trials"]) if measured else (),
    )


def side_curves(lines: pd.DataFrame, *, series: str, colour: int) -> list[Curve]:
    """Return what stands beside a network's lines: theory without draws, and published values."""
    curves = []
    own = lines[lines["model"] == "network"]
    if CLOSED in own and own[CLOSED].notna().any():
        look = Curve(series, f"network, {CLOSED} theory", colour, "dashdot")
        curves.append(curve_of(own, look, column=CLOSED))
    for model, of_model in lines.groupby("model", sort=False):
        if of_model["published"].notna().any():
            role = "published" if model == "network" else f"published, {model_name(str(model))}"
            look = Curve(series, role, colour, "cross")
            curves.append(curve_of(of_model, look, column="published"))
    return curves


def axis_value(axis: Axis, value: Any) -> str:
    """Return a value with the symbol that ends its axis's label, or a text with the label."""
    if isinstance(value, str):
        return f"{axis.label} {value.translate(BRACKETS)}"
    return f"{axis.label.split()[-1]} = {value:g}"


def unique(values: pd.Series) -> list[Any]:
    """Return the distinct values in their order, without those that are missing."""
    found: Sequence[Any] = values.dropna().unique().tolist()
    return list(found)
