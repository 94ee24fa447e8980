"""What pictures have in common: colours, markers, dashes, ticks, words for values and models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onegrad.describe.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import XAxis, YAxis

# Okabe and Ito's colours, apart for colour-blind readers; luminance and markers differ too.
STYLES = [("#0072B2", "o"), ("#D55E00", "s"), ("#56B4E9", "^"), ("#000000", "D"), ("#009E73", "v")]
GRADIENT, WEIGHTS, LINE = "#0072B2", "#D55E00", "#000000"
CONSTANT = GREY = "#777777"
OUTSIDE = "#CC0000"  # singular values outside the bulk
DASHES = ("-", "--", ":", "-.", (0, (7, 1.5, 1, 1.5)))  # of theory, one for each model
LONG_DASHES = (0, (10, 4))
WIDE_RANGE = 300.0  # of a logarithmic axis, from which only powers of ten are labelled
CONSTANT_LABEL = "best constant prediction"
NEAR = 0.6  # of the range of a picture's values: what is further above them would flatten them
VALUE_LABELS = {
    "half_test_mse": "½ test MSE",
    "objective": "training objective",
    "gap": "|gap to network| / network",
    "linear_gap_percent": "gap of the linear model, %",
    "smallest_degree": "smallest sufficient degree",
    "test_mse": "test MSE",
    "train_mse": "training MSE",
}


def metric_label(metric: str) -> str:
    """Return what a metric is called on an axis."""
    return VALUE_LABELS.get(metric, metric.replace("_", " "))


def model_name(model: str) -> str:
    """Return what a model is called in a legend."""
    plain = model.removesuffix("_theory")
    name = {"hermite": "Hermite model"}.get(plain, plain)
    return f"{name}, theory" if model.endswith("_theory") else name


def field_label(path: str) -> str:
    """Return what a field is called on an axis: the end of its path, in words."""
    parts = [part for part in path.split(".") if not part.isdigit() and part != "*"]
    return (parts[-1] if parts else path).replace("_", " ")


def is_near(constants: Floats, values: Floats, *, log: bool) -> bool:
    """Return whether constants lie within a picture's values or a little above them."""
    if log:
        constants, values = (np.log(v[v > 0]) for v in (constants, values))
    if not len(constants) or not len(values):
        return False
    low, high = float(values.min()), float(values.max())
    return float(constants.max()) <= high + NEAR * (high - low)


def add_grid(axes: Axes) -> None:
    """Draw thin lines behind the values."""
    axes.grid(alpha=0.25, linewidth=0.6)


def log_x(axes: Axes) -> None:
    """Make the horizontal axis logarithmic."""
    axes.set_xscale("log")
    number_ticks(axes.xaxis)


def log_y(axes: Axes) -> None:
    """Make the vertical axis logarithmic."""
    axes.set_yscale("log")
    number_ticks(axes.yaxis)


def number_ticks(axis: XAxis | YAxis) -> None:
    """Label a logarithmic axis with short numbers at 1, 2 and 5 times powers of ten."""
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    if high / low > WIDE_RANGE:
        return  # powers of ten are enough
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_formatter(NullFormatter())
