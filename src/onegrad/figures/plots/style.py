"""What pictures have in common: colours, labels, axes."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.ticker import LogLocator, NullFormatter

from onegrad.describe.arrays import Floats
from onegrad.figures.panel import Panel

# Okabe and Ito's colours, apart for colour-blind readers; luminance and markers differ too.
STYLES = [("#0072B2", "o"), ("#D55E00", "s"), ("#56B4E9", "^"), ("#000000", "D"), ("#009E73", "v")]
GRADIENT, WEIGHTS, LINE = "#0072B2", "#D55E00", "#000000"
VALUE_LABELS = {
    "half_test_mse": "½ test MSE",
    "objective": "training objective",
    "gap": "|gap to network| / network",
}
WIDE_RANGE = 300.0  # of a logarithmic axis, from which only powers of ten are labelled


def value_label(panel: Panel) -> str:
    """Return what the panel's values are called on an axis."""
    return VALUE_LABELS.get(panel.metric, panel.metric.replace("_", " "))


def finish_axes(axes: Axes, panel: Panel) -> None:
    """Label and scale the axes of a panel of curves."""
    axes.set_xlabel(panel.x.label)
    axes.set_ylabel(value_label(panel))
    if panel.x.log:
        axes.set_xscale("log")
        _number_ticks(axes.xaxis)
    if panel.log_value:
        axes.set_yscale("log")
        _number_ticks(axes.yaxis)
    axes.grid(alpha=0.25, linewidth=0.6)


def _number_ticks(axis: XAxis | YAxis) -> None:
    """Label a logarithmic axis with short numbers at 1, 2 and 5 times powers of ten."""
    low, high = axis.get_view_interval()
    if high / low > WIDE_RANGE:
        return  # powers of ten are enough
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_formatter(NullFormatter())


def value_grid(table: pd.DataFrame, column: str = "value") -> tuple[Floats, Floats, Floats]:
    """Return x, y and a column's values over them, y × x."""
    wide = table.pivot(index="y", columns="x", values=column).sort_index().sort_index(axis=1)
    return wide.columns.to_numpy(float), wide.index.to_numpy(float), wide.to_numpy(float)
