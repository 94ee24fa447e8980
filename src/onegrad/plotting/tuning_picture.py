"""The error that was tuned against one of the tuned fields, the choice marked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from onegrad.describe.exceptions import InvalidInput
from onegrad.plotting.canvas import finish
from onegrad.plotting.curves_picture import CurveWords, draw_curves_of
from onegrad.plotting.look import LINE, field_label, metric_label

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

CHOSEN = "chosen"
MOST_WIDTHS = 5  # that are drawn, those of the lowest errors


def draw_tuning(
    table: pd.DataFrame,
    *,
    against: str,
    metric: str,
    best: tuple[float, float, float],
    constant: float,
    ax: Any = None,
) -> Axes:
    """Return axes with the metric against a field, one curve for each of the best widths.

    `best` are the chosen value, its metric and the standard error of that.
    """
    import pandas as pd

    table = _of_best_widths(table, metric) if against != "width" else table
    several = against != "width" and "width" in table and table["width"].nunique() > 1
    hue = table["width"] if several else pd.Series("", index=table.index)
    shown = pd.DataFrame(
        {
            "x": table[against],
            "value": table[metric],
            "stderr": np.nan,
            "theory_error": np.nan,
            "model": "network",
            "hue": hue,
            "theory": True,
        }
    )
    if against == "width":  # the best rate of every width
        shown = shown.loc[shown.groupby("x")["value"].idxmin()]
    if shown.empty:
        raise InvalidInput(f"against={against!r}: nothing was evaluated; tune anew")
    words = CurveWords(field_label(against), metric_label(metric), "width", constant)
    axes = draw_curves_of(shown, words, ax=ax)
    x, value, stderr = best
    marker = axes.errorbar(
        [x], [value], [stderr] if np.isfinite(stderr) else None, color=LINE, marker="*", ms=11,
        ls="none", capsize=3, zorder=4, label=f"{CHOSEN}: {x:.3g}",
    )  # fmt: skip
    return finish(axes, x=words.x, y=words.y, handles=[marker])


def _of_best_widths(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the lines of the widths that reach the lowest errors."""
    if "width" not in table:
        return table
    best = table.groupby("width")[metric].min().nsmallest(MOST_WIDTHS).index
    return table[table["width"].isin(best)]
