"""Which of a result's axes a picture shows, and its table: what `Errors.plot` draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from onegrad.describe.checks import one_of, shown, truth
from onegrad.describe.exceptions import InvalidInput
from onegrad.plotting.matplotlib_figure import draw_plot
from onegrad.plotting.result_curves import BANDED, CurveWords, curve_plot
from onegrad.plotting.style import field_label, metric_label, model_name, value_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from onegrad.verbs.errors import Errors

LABELS = {"samples": "samples of the readout, m", "ridge": "ridge penalty λ", "step": "step"}


def draw_errors(errors: Errors, metric: str, *, x: str | None, constant: bool, ax: Any) -> Axes:
    """Return axes with a metric of every model: points of one problem, or curves along an axis."""
    import pandas as pd

    one_of("metric", metric, errors.metrics)
    truth("constant", constant)
    varied = [
        name
        for name, values in errors.axes.items()
        if name not in ("trial", "model") and len(values) > 1
    ]
    along = _chosen(x, varied, errors)
    table = _table(errors, metric)
    others = [name for name in varied if name != along]
    shown = pd.DataFrame(
        {
            "x": table["model"].map(model_name) if along is None else table[along],
            "value": table["mean"],
            "stderr": table["stderr"],
            "theory_error": table["theory_error"],
            "model": table["model"],
            "hue": _hues(table, others),
            "theory": errors.predicted,
        }
    )
    fixed_law = errors.over is None  # along a field the labels may change
    value = errors.best_constant.get(metric) if constant and fixed_law else None
    named = "" if len(others) != 1 else field_label(others[0])
    label = "" if along is None else LABELS.get(along, field_label(along))
    words = CurveWords(label, metric_label(metric), named, value)
    return draw_plot(curve_plot(shown, words), ax)


def _chosen(x: str | None, varied: list[str], errors: Errors) -> str | None:
    """Return the axis that a picture goes along, None for one problem."""
    if x is not None:
        if not varied:
            raise InvalidInput(f"x={shown(x)}: the result is of one problem; leave it out")
        return one_of("x", x, varied)
    curve = None if errors.over is None else errors.over[0]
    order = ["samples", curve, "step", "ridge"]
    return next((name for name in order if name in varied), None)


def _table(errors: Errors, metric: str) -> pd.DataFrame:
    """Return the long table of a metric, with how far theory may be off beside it."""
    frame = errors.to_frame()
    table = frame[frame["metric"] == metric].reset_index(drop=True)
    doubts = frame[frame["metric"] == "theory_error"]["mean"].to_numpy(float)
    known = len(doubts) == len(table) and metric in BANDED
    return table.assign(theory_error=doubts if known else np.nan)


def _hues(table: pd.DataFrame, others: list[str]) -> pd.Series:
    """Return what else differs: the values of one axis, or of several as one text."""
    import pandas as pd

    if len(others) == 1:
        return table[others[0]]
    texts = [
        ", ".join(f"{field_label(name)} {value_text(row[name])}" for name in others)
        for row in table[others].to_dict("records")
    ]
    return pd.Series(texts, index=table.index, dtype=object)
