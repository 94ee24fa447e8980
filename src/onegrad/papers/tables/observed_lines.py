"""The form of every table of observed runs: the same columns, means over trials."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from onegrad.papers.panel import Panel
from onegrad.papers.tables.panel_table import COLUMNS
from onegrad.running.table import Results

Setting = dict[str, Any]  # coordinates along the axes, and the fields of the problem
ObservedRun = dict[str, Any]  # what was seen of one trial, as plain values


class ObservedLines:
    """Lines of a table: values of several trials become a mean with its standard error."""

    def __init__(self, panel: Panel, activation: str) -> None:
        self._panel, self._activation = panel, activation
        self._values: dict[tuple[Any, ...], list[float]] = defaultdict(list)

    def add(self, metric: str, model: str, x: tuple[str, float], value: float, **y: float) -> None:
        """Add one trial's value at x = (name, number); y is at most one more coordinate."""
        name, place = next(iter(y.items()), ("", np.nan))
        self._values[metric, model, *x, name, place].append(value)

    def table(self) -> pd.DataFrame:
        """Return the table."""
        lines = []
        for (metric, model, x_name, x, y_name, y), values in self._values.items():
            count = len(values)
            stderr = float(np.std(values, ddof=1) / np.sqrt(count)) if count > 1 else np.nan
            place = [self._panel.name, metric, self._activation, model, x_name, x]
            lines.append([*place, float(np.mean(values)), stderr, count, np.nan, y_name, y])
        return pd.DataFrame(lines, columns=[*COLUMNS, "y_name", "y"])


def observed_table(
    panel: Panel,
    results: Results,
    add: Callable[[ObservedLines, Setting, ObservedRun], None],
) -> pd.DataFrame:
    """Return the panel's table after `add` has put every run's values into its lines.

    Predicted test errors, where there are any, come as the model network_theory.
    """
    fields = results.contents.settings[0]["fields"]
    lines = ObservedLines(panel, fields["network"]["activation"])
    for setting, run in results.observed():
        add(lines, setting, run)
    trials = results.trials
    theory = trials[(trials["verb"] == "predict") & (trials["metric"] == "test_mse")]
    for line in theory[theory["model"] == "network"].to_dict("records"):
        lines.add("test_mse", "network_theory", ("step", line["step"]), line["value"])
    return lines.table()


def with_error(line: pd.Series, digits: int = 1, unit: str = "") -> str:
    """Return a line's value with its standard error, where it has one."""
    error = f" ± {line['stderr']:.{digits}f}" if np.isfinite(line["stderr"]) else ""
    return f"{line['value']:.{digits}f}{error}{unit}"
