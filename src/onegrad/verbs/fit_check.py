"""Theory on a fitted mixture beside networks on rows that the fit has not seen, and what to say."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from onegrad.problem.problem import Problem
from onegrad.verbs.compared_metric import COMPARED
from onegrad.verbs.errors import Errors

CHECK_TRIALS = 16
CERTAIN, LARGE = 2.0, 0.1  # standard errors, and a share of the simulated error


@dataclass(frozen=True)
class FitCheck:
    """A predicted error, and the same of networks trained and tested on rows kept from the fit."""

    metric: str
    predicted: float
    simulated: float
    stderr: float  # of the difference
    trials: int

    @property
    def difference(self) -> float:
        """Predicted minus simulated."""
        return self.predicted - self.simulated

    @property
    def poor(self) -> bool:
        """Whether they differ by more than a tenth and more than two standard errors."""
        size = abs(self.difference)
        return bool(self._certain and size > LARGE * abs(self.simulated))

    @property
    def holds(self) -> bool:
        """Whether they agree to a tenth, and would be told apart if they did not."""
        known = CERTAIN * self.stderr <= 2 * LARGE * abs(self.simulated)
        return bool(known and abs(self.difference) <= LARGE * abs(self.simulated))

    @property
    def _certain(self) -> bool:
        return bool(not np.isfinite(self.stderr) or abs(self.difference) > CERTAIN * self.stderr)

    def __str__(self) -> str:
        error = f" ± {self.stderr:.2g}" if np.isfinite(self.stderr) else ""
        said = (
            f"predicted {self.metric} {self.predicted:.4g} on the fitted mixture, simulated "
            f"{self.simulated:.4g} on rows that the fit has not seen ({self.trials} trials), "
            f"difference {self.difference:+.2g}{error}"
        )
        if self.holds:
            return f"{said}: the fit holds to a tenth"
        if not self.poor:
            return f"{said}: too few trials to tell whether the fit holds to a tenth"
        return (
            f"{said}: the fit is poor; trust the order of settings more than the level, and try "
            "other components_per_class, rank, or more rows"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "metric": self.metric,
            "predicted": self.predicted,
            "simulated": self.simulated,
            "difference": self.difference,
            "stderr": self.stderr if np.isfinite(self.stderr) else None,
            "trials": self.trials,
            "poor": self.poor,
        }


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
    from onegrad.verbs.simulation import simulate  # late: theory loads nothing that trains

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what there is to say was said of the prediction
        trained = simulate(problem, ["network"], trials=trials, seed=seed, workers=workers)
    estimate = trained.estimate(metric)
    place = (0,) * estimate.mean.ndim if problem.training.steps == 1 else (0, -1, 0)
    errors = [e for e in (stderr, float(estimate.stderr[place])) if np.isfinite(e)]
    both = float(np.sqrt(np.sum(np.square(errors)))) if errors else float("nan")
    return FitCheck(metric, predicted, float(estimate.mean[place]), both, trials)
