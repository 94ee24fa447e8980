"""Curves from tables of results: simulation as points, theory as lines with bands.

A table has a line per point: x, value, stderr, model, hue, theory (whether it was predicted), and
theory_error, how far a prediction may be off, relative, NaN if that is unknown. A column
`constant`, if there is one, has the error of the best constant at the point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import Floats
from onegrad.plotting.style import (
    CONSTANT_LABEL,
    LINES,
    field_label,
    is_near,
    is_number,
    metric_label,
    model_name,
    value_text,
)
from onegrad.plotting.view import BLACK, GREY, Curve, Level, Plot, View, along

if TYPE_CHECKING:
    import pandas as pd

MOST_SERIES = 12  # colours that can be told apart
MOST_FACETS = 24
MOST_WIDTHS = 5  # of a tuned network: those of the lowest errors
BANDED = ("test_mse", "misclassification")  # the metrics that theory_error is about
LOG_VALUES = 100.0  # largest over smallest value, from which the axis is logarithmic
ALIKE = 1e-3  # relative: constants that differ by less are one
CONSTANT = "constant"  # the column
CHOSEN = "chosen"
GAP_LABEL = metric_label("gap")


@dataclass(frozen=True)
class CurveWords:
    """Labels of a picture's axes and colours, and the best constant if it is known."""

    x: str
    y: str
    hue: str = ""
    constant: float | None = None


def curve_plot(
    table: pd.DataFrame, words: CurveWords, *, whole: pd.DataFrame | None = None, title: str = ""
) -> Plot:
    """Return a curve per hue, model and verb of the table.

    Of one of several plots, `whole` is the table of all, which decides on colours.
    """
    table = checked_table(table)
    whole = table if whole is None else whole
    hues, models = list(whole["hue"].unique()), list(whole["model"].unique())
    curves = []
    for (hue, model, theory), points in table.groupby(
        ["hue", "model", "theory"], sort=False, dropna=False
    ):
        place = models.index(model)
        verb, name = ("theory" if theory else "simulation"), model_name(str(model))
        mark = LINES[place % len(LINES)] if theory else "points"
        look = Curve(name, verb, place, mark)
        if len(hues) > 1:
            series = f"{words.hue} {value_text(hue)}".strip()
            role = (f"{name}, theory" if theory else name) if len(models) > 1 else verb
            marker = place if len(models) > 1 else None
            mark = "open" if mark == "points" and place else mark
            look = Curve(series, role, hues.index(hue), mark, marker=marker)
        curves.append(_with_points(look, points))
    log = _is_wide(whole["value"].to_numpy(float))
    best, levels = _constants(table, words.constant, log=log)
    log_x = is_log_spaced(table["x"])
    return Plot(title, words.x, words.y, (*curves, *best), log_x, log, levels=levels)


def _with_points(look: Curve, points: pd.DataFrame) -> Curve:
    """Return a curve with its points; a prediction of a single point is a dash."""
    if points["x"].dtype.kind in "iuf":
        points = points.sort_values("x", kind="stable")
    x, value = points["x"].tolist(), points["value"].to_numpy(float)
    band: Sequence[float] = ()
    if look.mark in LINES:
        off = np.nan_to_num(points["theory_error"].to_numpy(float))
        band = (np.abs(value) * off).tolist() if np.any(off > 0) else ()
        if len(x) == 1 or isinstance(x[0], str):
            look = replace(look, mark="dash")
    stderr = points["stderr"].to_numpy(float)
    bars = stderr.tolist() if np.isfinite(stderr).any() else ()
    return along(look, x, value, stderr=bars, band=band)


def facet_view(table: pd.DataFrame, words: CurveWords, *, facet: str = "") -> View:
    """Return a plot per value of the table's column `facet`."""
    table = checked_table(table)
    known = table["facet"].astype(object).where(table["facet"].notna(), "none")
    values = list(known.unique())
    if len(values) > MOST_FACETS:
        raise InvalidInput(
            f"facet: {len(values)} values, at most {MOST_FACETS} pictures are drawn; take another"
        )
    several = len(values) > 1
    plots = [
        curve_plot(
            table[known == value],
            words,
            whole=table,
            title=f"{facet} {value_text(value)}".strip() if several else "",
        )
        for value in values
    ]
    log_x = is_log_spaced(table["x"])
    return View(plots=tuple(replace(plot, log_x=log_x) for plot in plots))


def checked_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return the lines that can be drawn; raise InvalidInput if there are none, or too many."""
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
    """Return numbers as floats; if anything else is among them, all as strings."""
    return column.astype(float) if all(map(is_number, column)) else column.map(value_text)


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


# The best constant.


def _constants(
    table: pd.DataFrame, value: float | None, *, log: bool
) -> tuple[list[Curve], tuple[Level, ...]]:
    """Return the best constant as curves or as a level.

    A constant far above the values is an entry of the legend alone.
    """
    if value is not None:
        table = table.assign(**{CONSTANT: value})
    known = table[CONSTANT].dropna().to_numpy(float) if CONSTANT in table else np.empty(0)
    if not len(known):
        return [], ()
    if not is_near(known, table["value"].to_numpy(float), log=log):
        return [
            Curve("", f"{CONSTANT_LABEL}: {constant_range(known)}, beyond", GREY, "longdash")
        ], ()
    if _are_alike(known):
        return [], (Level(CONSTANT_LABEL, float(known.mean())),)
    return constant_curves(table, by="hue"), ()


def constant_curves(table: pd.DataFrame, *, by: str | None) -> list[Curve]:
    """Return the column `constant` along x, a curve per value of the column `by`.

    If they coincide, there is a single curve without a colour of its own.
    """
    groups = [table] if by is None else [group for _, group in table.groupby(by, sort=False)]
    curves = []
    for colour, group in enumerate(groups):
        means = group.dropna(subset=CONSTANT).groupby("x", sort=group["x"].dtype.kind in "iuf")
        points = means[CONSTANT].mean()
        if len(points):
            look = Curve("", CONSTANT_LABEL, colour, "longdash")
            curves.append(along(look, points.index.tolist(), points))
    first = curves[0] if curves else None
    if first is not None and all(_coincide(first, curve) for curve in curves):
        return [replace(first, colour=GREY)]
    return curves


def _coincide(one: Curve, other: Curve) -> bool:
    return len(one.y) == len(other.y) and bool(np.allclose(one.y, other.y, rtol=ALIKE))


def _are_alike(values: Floats) -> bool:
    return bool(values.max() - values.min() <= ALIKE * values.max())


def constant_range(values: Floats) -> str:
    """Return one number, or the range of several."""
    low, high = float(values.min()), float(values.max())
    return f"{low:.3g}" if _are_alike(values) else f"{low:.3g} to {high:.3g}"


# Tuning.


def tuning_plot(
    table: pd.DataFrame,
    *,
    against: str,
    metric: str,
    best: tuple[float, float, float],
    constant: float,
) -> Plot:
    """Return the metric against a tuned field, one curve for each of the best widths.

    `best` are the chosen value, its metric and the standard error of that.
    """
    import pandas as pd

    if against != "width" and "width" in table:
        lowest = table.groupby("width")[metric].min().nsmallest(MOST_WIDTHS).index
        table = table[table["width"].isin(lowest)]
    several = against != "width" and "width" in table and table["width"].nunique() > 1
    shown = pd.DataFrame(
        {
            "x": table[against],
            "value": table[metric],
            "stderr": np.nan,
            "theory_error": np.nan,
            "model": "network",
            "hue": table["width"] if several else "",
            "theory": True,
        }
    )
    if against == "width":  # the best rate of every width
        shown = shown.loc[shown.groupby("x")["value"].idxmin()]
    if shown.empty:
        raise InvalidInput(f"against={against!r}: nothing was evaluated; run tune again")
    words = CurveWords(field_label(against), metric_label(metric), "width", constant)
    plot = curve_plot(shown, words)
    x, value, stderr = best
    look = Curve("", f"{CHOSEN}: {x:.3g}", BLACK, "star")
    star = along(look, [x], [value], stderr=[stderr] if np.isfinite(stderr) else ())
    return replace(plot, curves=(*plot.curves, star))


# Gaps of Hermite models to the network.


@dataclass(frozen=True)
class DecayLine:
    """The fitted |gap| = factor·n^{−exponent} of a degree, over the dimensions it rests on."""

    degree: int
    exponent: float
    stderr: float
    factor: float
    dimensions: tuple[int, ...]


def gap_plot(table: pd.DataFrame, *, tolerance: float, theorem: int | None) -> Plot:
    """Return |gap| of every degree, hollow if the model is below the network.

    The tolerance is a level, and so is the theorem's degree if it is among the degrees.
    """
    table = _drawable(table)
    levels = [Level(f"tolerance {tolerance:g}", tolerance)]
    if theorem is not None and theorem <= int(table["degree"].max()):
        label = f"degree of the theorem: {theorem}"
        levels.append(Level(label, theorem, "dotted", upright=True))
    curves = _gap_curves(table, "degree", series="", colour=0)
    return Plot(
        "", "degree of the Hermite model", GAP_LABEL, curves, log_y=True, levels=tuple(levels)
    )


def decay_plot(table: pd.DataFrame, fits: Sequence[DecayLine]) -> Plot:
    """Return |gap| against n for every degree, and the fitted power of n as a line."""
    table = _drawable(table)
    known = {fit.degree: fit for fit in fits}
    curves: list[Curve] = []
    for colour, degree in enumerate(sorted(table["degree"].unique().tolist())):
        series, fit = f"degree {degree}", known.get(degree)
        if fit is not None:
            series += f": $n^{{{-fit.exponent:.2f}}}$ ± {fit.stderr:.2f}"
        points = table[table["degree"] == degree].sort_values("dimension")
        curves += _gap_curves(points, "dimension", series=series, colour=colour)
        if fit is not None:
            n = np.array(fit.dimensions, float)
            look = Curve(series, "fitted power of n", colour, "line")
            curves.append(along(look, n, fit.factor * n**-fit.exponent))
    return Plot("", "dimension n", GAP_LABEL, tuple(curves), log_x=True, log_y=True)


def _drawable(table: pd.DataFrame) -> pd.DataFrame:
    """Return the gaps that a logarithmic axis can show."""
    drawn = table[np.isfinite(table["gap"]) & (table["gap"] != 0)]
    if drawn.empty:
        raise InvalidInput("plot: no gap is a finite number other than 0; raise draws or degrees")
    return drawn


def _gap_curves(table: pd.DataFrame, x: str, *, series: str, colour: int) -> tuple[Curve, ...]:
    """Return |gap| along x, positive and negative ones apart."""
    looks: dict[str, Any] = {"above the network": "points", "below the network": "open"}
    signs = {"above the network": table["gap"] > 0, "below the network": table["gap"] < 0}
    return tuple(
        along(
            Curve(series, role, colour, looks[role]),
            table.loc[here, x].astype(float),
            table.loc[here, "gap"].abs(),
            stderr=table.loc[here, "stderr"].astype(float),
        )
        for role, here in signs.items()
        if here.any()
    )
