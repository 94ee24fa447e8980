"""The tables of panels: one line per point, the panel's axes as x, y and facet.

The best constant predictor of a panel, from the exact law of the labels.

A model above it is worse than one that looks at no input.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from onegrad.describe.exceptions import InvalidInput
from onegrad.papers.panel import Panel
from onegrad.plotting.curves import CONSTANT, constant_curves, constant_range
from onegrad.plotting.style import is_near
from onegrad.plotting.view import Curve
from onegrad.results.errors import METRICS
from onegrad.sweeps.results import Results, constant_errors

COLUMNS = [
    "panel",
    "metric",
    "activation",
    "model",
    "x_name",
    "x",
    "value",
    "stderr",
    "trials",
    "published",
]
ACTIVATION = "network.activation"
CLOSED = "closed"  # the column of theory without draws, and its method
PANE = "pane"  # the column that tells the trials' size from the published one
# The metric of the rows for every metric of panels, and the factor between them.
SOURCES = {"half_test_mse": ("test_mse", 0.5), **{name: (name, 1.0) for name in METRICS}}


def source_metric(panel: Panel) -> tuple[str, float]:
    """Return the metric of the rows that the panel shows, and the factor before it."""
    if panel.metric not in SOURCES:
        raise InvalidInput(
            f"metric={panel.metric!r}: must be one of {', '.join(SOURCES)}; choose one"
        )
    return SOURCES[panel.metric]


def metric_lines(panel: Panel, results: Results) -> pd.DataFrame:
    """Return the means of the panel's metric as value and stderr, beside the sweep's axes."""
    metric, factor = source_metric(panel)
    means = results.to_frame()
    lines = means[means["metric"] == metric].copy()
    lines["value"], lines["stderr"] = factor * lines["mean"], factor * lines["stderr"]
    return lines


def panel_table(panel: Panel, results: Results, lines: pd.DataFrame) -> pd.DataFrame:
    """Return lines as the panel's table, theory without draws as a column `closed` beside them.

    `closed` is that theory's value of the line's model at its point; where no line is by it, there
    is no such column.
    """
    closed = lines["method"] == CLOSED
    table = placed_lines(panel, results, lines[~closed])
    if closed.any():
        place = [c for c in (*results.axes, "model", "step", "ridge") if c in lines]
        known = lines.loc[closed, [*place, "value"]]
        beside = lines.loc[~closed, place].merge(known, on=place, how="left")
        table.insert(len(COLUMNS), CLOSED, beside["value"].to_numpy())
    return table


def placed_lines(panel: Panel, results: Results, lines: pd.DataFrame) -> pd.DataFrame:
    """Return lines at the panel's places; predictions are the models named …_theory or …_closed.

    `lines` have verb, method, model, value, stderr and count beside the sweep's axes. Maps and
    curves told apart by a second axis have columns y_name and y as well. `published` is filled in
    later, at the published size alone.
    """
    fields = results.contents.settings[0]["fields"]
    kinds = np.where(lines["method"] == CLOSED, f"_{CLOSED}", "_theory")
    suffixes = np.where(lines["verb"] == "predict", kinds, "")
    activation = lines[ACTIVATION] if ACTIVATION in lines else fields["network"]["activation"]
    table = pd.DataFrame(
        {
            "panel": panel.name,
            "metric": panel.metric,
            "activation": activation,
            "model": lines["model"] + suffixes,
            "x_name": panel.x.name,
            "x": shown_x(panel, lines[panel.x.path], fields["dimension"]),
            "value": lines["value"],
            "stderr": lines["stderr"],
            "trials": lines["count"],
            "published": np.nan,
        }
    )
    for name, axis in (("y", panel.y), ("facet", panel.facet)):
        if axis is not None:
            table[f"{name}_name"], table[name] = axis.name, lines[axis.path]
    return table.reset_index(drop=True)


def shown_x(panel: Panel, x: pd.Series, dimension: int) -> pd.Series:
    """Return x as the panel shows it: the value, or its exponent to the base n."""
    return np.log(x) / np.log(dimension) if panel.x.exponent else x


def has_closed(table: pd.DataFrame) -> bool:
    """Return whether any line has a value of theory without draws beside it."""
    return CLOSED in table and bool(table[CLOSED].notna().any())


def panes(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the parts of the table by their titles; a table of one part has an empty title."""
    if PANE not in table:
        return {"": table}
    return {str(size): part for size, part in table.groupby(PANE, sort=False)}


def unique(values: pd.Series) -> list[Any]:
    """Return the distinct values in their order, without those that are missing."""
    return list(values.dropna().unique().tolist())


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
