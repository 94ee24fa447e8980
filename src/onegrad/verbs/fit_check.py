"""Theory on a fitted mixture compared with networks on rows that the fit has not seen."""

from __future__ import annotations

import warnings

import numpy as np

from onegrad.core.problem import Problem
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import shown
from onegrad.results.errors import Errors
from onegrad.results.tuned import FitCheck

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


def note_preparation(problem: Problem) -> None:
    """Warn where real data are prepared by the class of each row, test points included."""
    if getattr(problem.data, "reads_test_labels", False):
        centring = getattr(problem.data, "centring", "")
        how = "centring='class'" if centring == "class" else "equal_traces"
        warnings.warn(
            f"data.{how}: prepares a test point by its own class, which needs its label; for "
            "errors on new data use centring='midpoint' without equal_traces",
            stacklevel=3,
        )


CHECK_TRIALS = 16


def check_prediction(
    errors: Errors, *, trials: int = CHECK_TRIALS, workers: int = 1
) -> list[FitCheck]:
    """Return a prediction's errors of the network beside trained ones, at its best penalty.

    Along samples the last number is compared, of several steps the last one.
    """
    problem = errors.problem
    if errors.samples is not None:
        problem = problem.replace(readout__samples=errors.samples[-1])
    network = [model.name for model in errors.models].index("network")
    checks = []
    for metric in (name for name in COMPARED if name in errors.metrics):
        estimate = errors.estimate(metric)
        mean, stderr = (
            values[network].reshape(-1, values.shape[-1])[-1]
            for values in (estimate.mean, estimate.stderr)
        )
        place = int(np.nanargmin(mean))
        checks.append(
            check_theory(
                problem.replace(readout__ridge=problem.ridges[place]),
                metric=metric,
                predicted=float(mean[place]),
                stderr=float(stderr[place]),
                trials=trials,
                seed=errors.seed,
                workers=workers,
            )
        )
    return checks


def check_theory(
    problem: Problem,
    *,
    metric: str,
    predicted: float,
    stderr: float = float("nan"),
    trials: int = CHECK_TRIALS,
    seed: int = 0,
    workers: int = 1,
) -> FitCheck:
    """Return a prediction for real data beside networks on the rows kept from the fit.

    `problem` has one penalty; trials share seed, first layer and steps' rows with the draws of
    theory. Both standard errors count.
    """
    from onegrad.verbs.simulate import simulate  # late: theory loads nothing that trains

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what there is to say was said of the prediction
        trained = simulate(problem, ["network"], trials=trials, seed=seed, workers=workers)
    estimate = trained.estimate(metric)
    place = (0,) * estimate.mean.ndim if problem.training.steps == 1 else (0, -1, 0)
    errors = [e for e in (stderr, float(estimate.stderr[place])) if np.isfinite(e)]
    both = float(np.sqrt(np.sum(np.square(errors)))) if errors else float("nan")
    return FitCheck(metric, predicted, float(estimate.mean[place]), both, trials)
