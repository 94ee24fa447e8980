"""What the best constant has at the settings of a sweep: computed when it is shown, not stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onegrad.describe.digests import digest
from onegrad.describe.exceptions import InvalidInput
from onegrad.problem.problem import Problem
from onegrad.running.table import Results, setting_identity
from onegrad.verbs.best_constant import best_constant

if TYPE_CHECKING:
    import pandas as pd

# What the law of the labels and their metrics depends on; settings that agree in it share a draw.
LAW_FIELDS = ("dimension", "data", "teacher", "scaling", "redraw")
METRICS = ("test_mse", "misclassification", "test_loss")


def constant_errors(results: Results, lines: pd.DataFrame, metric: str) -> dict[str, float]:
    """Return the best constant's error by the identity of settings, for those of the lines.

    Where it is not known there is none: a metric that is no test error, real data that are not on
    this machine, functions that are not registered.
    """
    if metric not in METRICS or lines.empty:
        return {}
    trials, wanted = int(lines["count"].max()), set(lines["setting"])
    by_law: dict[str, float | None] = {}
    known = {}
    for setting in results.contents.settings:
        identity = setting_identity(setting)
        if identity not in wanted or identity in known:
            continue
        fields = setting["fields"]
        own = [fields.get(name) for name in LAW_FIELDS]
        law = digest([*own, fields["readout"]["loss"], fields["readout"]["outputs"]])
        if law not in by_law:
            by_law[law] = _error(fields, metric, seed=setting["seed"], trials=trials)
        error = by_law[law]
        if error is not None:
            known[identity] = error
    return known


def _error(fields: dict[str, object], metric: str, *, seed: int, trials: int) -> float | None:
    """Return the best constant's error in a stored problem, None where it cannot be made here."""
    try:
        problem = Problem(**fields)  # type: ignore[arg-type]
        return best_constant(problem, seed=seed, trials=trials).get(metric)
    except InvalidInput:
        return None
