"""Which predicted metric models are compared by or settings chosen by, and whether it exists."""

from __future__ import annotations

from onegrad.describe.checks import shown
from onegrad.describe.exceptions import InvalidInput
from onegrad.problem.problem import Problem

COMPARED = ("test_mse", "misclassification", "test_loss")


def require_metric(problem: Problem, metric: str) -> None:
    """Raise InvalidInput where theory does not predict the metric of the problem."""
    if not isinstance(metric, str) or metric not in COMPARED:
        raise InvalidInput(
            f"metric={shown(metric)}: must be one of {', '.join(COMPARED)}; choose one"
        )
    altered = problem.noisy or problem.training.subtract != "none"
    counted = problem.classes or (problem.binary and not altered)
    if metric == "misclassification" and not counted:
        raise InvalidInput(
            "metric='misclassification': needs one output per class, or labels of +1 and -1 "
            "without noise or subtraction; use --task classification, or test_mse"
        )
    if metric == "test_loss" and problem.readout.loss == "square":
        raise InvalidInput(
            "metric='test_loss': readout.loss='square' has the test MSE alone; use test_mse, or "
            "name another loss"
        )
