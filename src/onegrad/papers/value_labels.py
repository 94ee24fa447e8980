"""What values and series are called in pictures and in the report."""

from __future__ import annotations

from onegrad.papers.panel import Panel
from onegrad.plotting.look import metric_label

ACTIVATION_NAMES = {"relu": "ReLU"}


def value_label(panel: Panel) -> str:
    """Return what the panel's values are called on an axis."""
    return metric_label(panel.metric)


def series_label(panel: Panel, value: float | str) -> str:
    """Return what has a colour of its own is called: an activation, or a value of a second axis."""
    if isinstance(value, str):
        plain = value.translate(str.maketrans("", "", "[]\"'"))
        return ACTIVATION_NAMES.get(plain, plain) if panel.y is None else plain
    name = "value" if panel.y is None else panel.y.name
    return f"{name} {value:g}"
