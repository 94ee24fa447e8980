"""Tables of curves: a metric of every model against the panel's axes."""

from __future__ import annotations

import pandas as pd

from onegrad.describe.exceptions import InvalidInput
from onegrad.papers.panel import Panel
from onegrad.papers.tables.constant_predictor import with_constant
from onegrad.papers.tables.panel_table import panel_table
from onegrad.running.table import Results
from onegrad.verbs.errors import METRICS

# What a panel calls its metric: the metric of the rows, and the factor between them.
SOURCES = {"half_test_mse": ("test_mse", 0.5), **{name: (name, 1.0) for name in METRICS}}


def source_metric(panel: Panel) -> tuple[str, float]:
    """Return the metric of the rows that the panel shows, and the factor before it."""
    if panel.metric not in SOURCES:
        raise InvalidInput(
            f"metric={panel.metric!r}: must be one of {', '.join(SOURCES)}; choose one"
        )
    return SOURCES[panel.metric]


def curve_table(panel: Panel, results: Results) -> pd.DataFrame:
    """Return the panel's metric of every model and verb, and of the best constant."""
    lines = metric_lines(panel, results)
    return with_constant(panel, results, lines, panel_table(panel, results, lines))


def metric_lines(panel: Panel, results: Results) -> pd.DataFrame:
    """Return the means of the panel's metric as value and stderr, beside the sweep's axes."""
    metric, factor = source_metric(panel)
    means = results.to_frame()
    lines = means[means["metric"] == metric].copy()
    lines["value"], lines["stderr"] = factor * lines["mean"], factor * lines["stderr"]
    return lines
