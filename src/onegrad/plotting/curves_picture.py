"""Values against an axis: simulation as markers with error bars, theory as lines with bands.

A table has a line per point: x, value, stderr, model, hue, theory (whether it was predicted), and
theory_error, how far a prediction may be off, relative, NaN where that is not known. A column
constant, where there is one, has the error of the best constant at the point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import InvalidInput
from onegrad.plotting.canvas import axes_for, finish
from onegrad.plotting.constant_line import constant_entries
from onegrad.plotting.look import (
    DASHES,
    GREY,
    STYLES,
    log_x,
    log_y,
    model_name,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

COLUMNS = ("x", "value", "stderr", "theory_error", "model", "hue", "theory")
MOST_SERIES = 12  # of one colour each; more cannot be told apart
BANDED = ("test_mse", "misclassification")  # what theory_error speaks of
LOG_VALUES = 100.0  # largest over smallest value, from which the axis is logarithmic


@dataclass(frozen=True)
class CurveWords:
    """What a picture's axes and colours are called, and the best constant where it is known."""

    x: str
    y: str
    hue: str = ""
    constant: float | None = None


def draw_curves_of(
    table: pd.DataFrame,
    words: CurveWords,
    *,
    ax: Any = None,
    looks_of: pd.DataFrame | None = None,
) -> Axes:
    """Return axes with a curve per hue, model and verb of the table.

    Colours and legend are those of the table `looks_of` where one of several pictures is drawn.
    """
    table = checked_table(table)
    whole = table if looks_of is None else looks_of
    axes = axes_for(ax)
    looks = series_looks(whole, before=_models_on(axes))
    for (hue, model, theory), points in table.groupby(
        ["hue", "model", "theory"], sort=False, dropna=False
    ):
        label = str(model) if hue == "" else f"{text_of(hue)}, {model}"
        _add_series(axes, points, looks[hue, model], theory=bool(theory), label=label)
    handles = legend_handles(whole, words, looks)
    log = _is_wide(whole["value"].to_numpy(float))
    handles += constant_entries(axes, table, words.constant, log=log)
    _scale_x(axes, table["x"])
    if log:
        log_y(axes)
    return finish(axes, x=words.x, y=words.y, handles=handles)


def _scale_x(axes: Axes, places: pd.Series) -> None:
    """Make room beside words, and label whole numbers with whole numbers."""
    from matplotlib.ticker import MaxNLocator

    if isinstance(places.iloc[0], str):
        axes.margins(x=0.2)
    elif is_log_spaced(places):
        log_x(axes)
    elif (places == places.round()).all():
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def checked_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return the lines that can be drawn; raise InvalidInput where there are none, or too many."""
    drawn = table[np.isfinite(table["value"].to_numpy(float))]
    if drawn.empty:
        raise InvalidInput("plot: no value is a finite number; there is nothing to draw")
    hues = drawn["hue"].nunique(dropna=False)
    if hues > MOST_SERIES:
        raise InvalidInput(
            f"hue: {hues} values, at most {MOST_SERIES} can be told apart; take another, or fewer"
        )
    known = drawn["hue"].astype(object).where(drawn["hue"].notna(), "none")
    return drawn.assign(x=axis_values(drawn["x"]), hue=known)


def axis_values(column: pd.Series) -> pd.Series:
    """Return numbers as floats; where anything else is among them, all as texts."""
    return column.astype(float) if all(map(_is_number, column)) else column.map(text_of)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def text_of(value: object) -> str:
    """Return a value as it stands in a legend or under an axis."""
    if _is_number(value):
        return f"{value:.6g}"
    return str(value).translate(str.maketrans("", "", "[]\"'"))


def is_log_spaced(column: pd.Series) -> bool:
    """Return whether numbers are spaced more evenly in their logarithm, over more than tenfold."""
    if column.dtype.kind not in "iuf":
        return False
    places = np.unique(column.to_numpy(float))
    if len(places) < 3 or places[0] <= 0 or places[-1] < 10 * places[0]:
        return False
    return _unevenness(np.log(places)) < _unevenness(places)


def _unevenness(places: Floats) -> float:
    gaps = np.diff(places)
    return float(gaps.max() / gaps.min())


def _is_wide(values: Floats) -> bool:
    return bool(values.min() > 0 and values.max() > LOG_VALUES * values.min())


@dataclass(frozen=True)
class SeriesLook:
    """How the points of one hue and model look."""

    colour: str
    marker: str
    hollow: bool
    dashes: Any


Looks = dict[tuple[Any, Any], SeriesLook]


def series_looks(table: pd.DataFrame, *, before: Sequence[str] = ()) -> Looks:
    """Return the looks by (hue, model): colours tell hues apart, of a single hue the models.

    Models that were drawn on the same axes before keep their colours.
    """
    hues = list(table["hue"].unique())
    by_hue = len(hues) > 1
    models = list(dict.fromkeys([*([] if by_hue else before), *table["model"]]))
    colours = series_colours(len(hues) if by_hue else len(models))
    looks = {}
    for i, hue in enumerate(hues):
        for j, model in enumerate(models):
            colour, marker = colours[i if by_hue else j]
            looks[hue, model] = SeriesLook(
                colour,
                STYLES[j % len(STYLES)][1] if by_hue and len(models) > 1 else marker,
                by_hue and j > 0,
                DASHES[j % len(DASHES)],
            )
    return looks


def _models_on(axes: Axes) -> list[str]:
    """Return the models that colours on the axes stand for, in the order of their colours."""
    labels = [str(container.get_label()).removesuffix(", theory") for container in axes.containers]
    return list(dict.fromkeys(label for label in labels if label[:1] != "_" and ", " not in label))


def series_colours(count: int) -> list[tuple[str, str]]:
    """Return a colour and a marker each: Okabe and Ito's, or a scale where these are too few."""
    if count <= len(STYLES):
        return STYLES[:count]
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    shades = colormaps["cividis"](np.linspace(0.0, 0.92, count))
    return [(to_hex(shade), STYLES[i % len(STYLES)][1]) for i, shade in enumerate(shades)]


def _add_series(
    axes: Axes, points: pd.DataFrame, look: SeriesLook, *, theory: bool, label: str
) -> None:
    """Draw one series; a prediction of a single point is a dash with a bar for its band."""
    if points["x"].dtype.kind in "iuf":
        points = points.sort_values("x", kind="stable")
    x, value = points["x"].tolist(), points["value"].to_numpy(float)
    error = points["stderr"].to_numpy(float)
    bars = np.where(np.isfinite(error), error, 0.0) if np.isfinite(error).any() else None
    if not theory:
        fill = "none" if look.hollow else look.colour
        axes.errorbar(
            x, value, bars, color=look.colour, marker=look.marker, mfc=fill, ls="none", capsize=2,
            elinewidth=1.0, label=label,
        )  # fmt: skip
        return
    doubt = np.abs(value) * np.nan_to_num(points["theory_error"].to_numpy(float))
    lone = len(x) == 1 or isinstance(x[0], str)
    if np.any(doubt > 0) and lone:
        axes.errorbar(
            x, value, doubt, color=look.colour, alpha=0.25, lw=6, ls="none", label="_band"
        )
    elif np.any(doubt > 0):
        axes.fill_between(x, value - doubt, value + doubt, color=look.colour, alpha=0.15, lw=0)
    shape = {"ls": "none", "marker": "_", "ms": 14} if lone else {"ls": look.dashes, "marker": ""}
    axes.errorbar(
        x, value, bars, color=look.colour, elinewidth=0.8, label=f"{label}, theory", **shape
    )


def legend_handles(table: pd.DataFrame, words: CurveWords, looks: Looks) -> list[Artist]:
    """Return the legend: colours for hues or models, then grey for what else differs."""
    from matplotlib.lines import Line2D

    hues, models = list(table["hue"].unique()), list(table["model"].unique())
    kinds = list(table["theory"].unique())
    categories = table["x"].tolist() == table["model"].map(model_name).tolist()
    if categories:  # which stand under the axis
        return [_kind_handle(bool(kind), lone=True) for kind in kinds]
    if len(hues) > 1:
        name = f"{words.hue} " if words.hue else ""
        handles: list[Artist] = [
            Line2D([], [], color=looks[hue, models[0]].colour, lw=2.5, label=name + text_of(hue))
            for hue in hues
        ]
        for model in models if len(models) > 1 else []:
            handles += [_model_handle(looks[hues[0], model], model, bool(k)) for k in kinds]
        return handles + ([_kind_handle(bool(k)) for k in kinds] if len(models) == 1 else [])
    return [
        _model_handle(looks[hues[0], model], model, bool(kind), own_colour=True)
        for model in models
        for kind in table.loc[table["model"] == model, "theory"].unique()
    ]


def _model_handle(look: SeriesLook, model: str, theory: bool, *, own_colour: bool = False) -> Any:
    from matplotlib.lines import Line2D

    colour = look.colour if own_colour else GREY
    if theory:
        label = f"{model_name(model)}, theory"
        return Line2D([], [], color=colour, ls=look.dashes, label=label)
    fill = "none" if look.hollow else colour
    return Line2D(
        [], [], color=colour, marker=look.marker, mfc=fill, ls="none", label=model_name(model)
    )


def _kind_handle(theory: bool, *, lone: bool = False) -> Any:
    from matplotlib.lines import Line2D

    if theory:
        ls, marker = ("none", "_") if lone else ("-", "")
        return Line2D([], [], color=GREY, ls=ls, marker=marker, ms=10, label="theory")
    return Line2D([], [], color=GREY, marker="o", ls="none", label="simulation")
