"""The form of every table of giant steps: the same columns, means over trials."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from onegrad.figures.giant_runs import GiantRun, RunResults
from onegrad.figures.giant_study import GiantPanel
from onegrad.figures.tables.panel_table import COLUMNS


class GiantLines:
    """Lines of a table: values of several trials become a mean with its standard error."""

    def __init__(self, panel: GiantPanel, activation: str) -> None:
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


def giant_table(
    panel: GiantPanel,
    runs: RunResults,
    add: Callable[[GiantLines, GiantRun, dict[str, Any]], None],
) -> pd.DataFrame:
    """Return the panel's table after `add` has put every run's values into its lines."""
    lines = GiantLines(panel, runs[0][0].problem.activation)
    for run, result in runs:
        add(lines, run, result)
    return lines.table()


def with_error(line: pd.Series, digits: int = 1, unit: str = "") -> str:
    """Return a line's value with its standard error, where it has one."""
    error = f" ± {line['stderr']:.{digits}f}" if np.isfinite(line["stderr"]) else ""
    return f"{line['value']:.{digits}f}{error}{unit}"
