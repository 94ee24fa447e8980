"""The error of the best constant predictor, from the exact law of the labels.

A model above it is worse than one that looks at no input. For squares it is the labels' variance,
for signs the smaller share of them, for the logistic loss the entropy of that share.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pandas as pd

from onegrad.data.label_teacher import LabelTeacher
from onegrad.describe.arrays import Floats
from onegrad.papers.panel import Panel
from onegrad.papers.tables.panel_table import CLOSED
from onegrad.problem.problem import Problem
from onegrad.running.table import Results, setting_identity
from onegrad.training.instance import Instance, draw

CONSTANT = "constant"  # the column
# What the law of the labels depends on; settings that agree in it share their draws.
LAW_FIELDS = ("dimension", "data", "teacher", "scaling", "redraw")
DRAWS = 20  # at most, for the mean over draws of directions


def with_constant(
    panel: Panel, results: Results, lines: pd.DataFrame, table: pd.DataFrame
) -> pd.DataFrame:
    """Return the table with the best constant's error of every line's problem as its last column.

    `lines` are those that the table was made of, in its order. Where the metric is no error, or
    labels have no known law, there is no such column.
    """
    drawn = lines[lines["method"] != CLOSED]  # theory without draws stands in a column of its own
    known = _constants(panel.metric, results, set(drawn["setting"]))
    values = drawn["setting"].map(known).to_numpy(float)
    return table.assign(**{CONSTANT: values}) if np.isfinite(values).any() else table


def _constants(metric: str, results: Results, wanted: set[str]) -> dict[str, float]:
    """Return the best constant's error by the identity of settings."""
    trials = min(DRAWS, int(results.trials["trial"].max()) + 1)
    by_law: dict[str, float] = {}
    known = {}
    for setting in results.contents.settings:
        identity = setting_identity(setting)
        if identity in known or identity not in wanted:
            continue
        problem = Problem(**setting["fields"])
        law = json.dumps([*(setting["fields"][name] for name in LAW_FIELDS), problem.readout.loss])
        if law not in by_law:
            by_law[law] = constant_error(problem, metric, seed=setting["seed"], trials=trials)
        known[identity] = by_law[law]
    return known


def constant_error(problem: Problem, metric: str, *, seed: int = 0, trials: int = 1) -> float:
    """Return the least error of a constant prediction, a mean over trials; NaN where unknown."""
    errors = [_error(draw(problem, seed=seed, trial=trial), metric) for trial in range(trials)]
    return float(np.mean(errors))


def _error(instance: Instance, metric: str) -> float:
    """Return the best constant's error in one drawn instance."""
    problem = instance.problem
    mean, power = label_moments_of(instance)
    variance = max(0.0, power - mean * mean)
    signs = problem.binary and not problem.noisy
    if metric in ("half_test_mse", "test_mse"):
        return variance / 2 if metric == "half_test_mse" else variance
    if metric == "misclassification" and signs:
        return (1 - abs(mean)) / 2
    if metric == "test_loss" and problem.readout.loss == "logistic" and signs:
        return sum(-p * math.log(p) for p in ((1 + mean) / 2, (1 - mean) / 2) if p > 0)
    return math.nan


def label_moments_of(instance: Instance) -> tuple[float, float]:
    """Return E y and E y², exact: of class labels by their shares, else component by component."""
    teacher, population = instance.teacher, instance.population
    weights: Floats = np.asarray(population.weights, float)
    if isinstance(teacher, LabelTeacher):
        labels = np.array([0.0 if label is None else label for label in population.labels])
        mean = (1 - 2 * teacher.flips) * float(weights @ labels)
        return mean, float(weights @ labels**2) + teacher.noise**2
    components: tuple[Any, ...] = instance.mixture.components
    means = [teacher.linear_part(gaussian)[0] for gaussian in components]
    powers = [teacher.second_moment(gaussian) for gaussian in components]
    shares = np.array([gaussian.weight for gaussian in components])
    return float(shares @ means), float(shares @ powers)
