"""The best constant predictor of a panel, from the exact law of the labels.

A model above it is worse than one that looks at no input.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from onegrad.papers.panel import Panel
from onegrad.papers.panel_table import CLOSED, SOURCES
from onegrad.plotting.result_curves import CONSTANT, constant_curves, constant_range
from onegrad.plotting.style import is_near
from onegrad.plotting.view import Curve
from onegrad.running.constant_errors import constant_errors
from onegrad.running.table import Results


def with_constant(
    panel: Panel, results: Results, lines: pd.DataFrame, table: pd.DataFrame
) -> pd.DataFrame:
    """Return the table with the best constant's error of every line's problem as its last column.

    `lines` are those that the table was made of, in its order. If the metric is no error, or
    labels have no known law, there is no such column.
    """
    drawn = lines[lines["method"] != CLOSED]  # theory without draws has a column of its own
    metric, factor = SOURCES[panel.metric]
    known = constant_errors(results, drawn, metric)
    values = factor * drawn["setting"].map(known).to_numpy(float)
    return table.assign(**{CONSTANT: values}) if np.isfinite(values).any() else table


def near_constants(panel: Panel, table: pd.DataFrame, *, by: str | None) -> list[Curve]:
    """Return the best constant's curves, one for each value of the column `by`, if they are near.

    Constants far above the other values would flatten these, and are not drawn.
    """
    return constant_curves(table, by=by) if CONSTANT in table and _is_near(panel, table) else []


def _is_near(panel: Panel, table: pd.DataFrame) -> bool:
    constants = table[CONSTANT].dropna().to_numpy(float)
    values = table["value"].dropna().to_numpy(float)
    return is_near(constants, values, log=panel.log_value)


def constant_words(panel: Panel, table: pd.DataFrame) -> str:
    """Return a sentence about the best constant predictor, nothing if its error is not known."""
    if CONSTANT not in table or not table[CONSTANT].notna().any():
        return ""
    value = constant_range(table[CONSTANT].dropna().to_numpy(float))
    place = "long dashes" if _is_near(panel, table) else "beyond the picture"
    return (
        f"The best constant prediction, which looks at no input, has {value} ({place}); from the "
        "exact law of the labels."
    )
