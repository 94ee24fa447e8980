"""How far a prediction may be off: an estimate from what the equations already know.

Theory is exact for many neurons and samples. At finite size it errs the more, the more the readout
amplifies noise (near the interpolation peak, and near separability), and the fewer samples a
component has. `benchmarks/agreement.py` measures these deviations on random problems and
fits the constants below to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log

import numpy as np

from onegrad.calculus.prediction import (
    CORNER_ERROR,
    Note,
    few_margins_bend,
    loss_notes,
    small_rate_notes,
)
from onegrad.theory.equations import ConvexByTypes, RidgeByTypes

# log error = constant + Σ slope · log indicator, fitted by benchmarks/agreement.py. The spread of
# the reach tells little more: where it matters, types have a covariance each.
CONSTANT = 0.667
SLOPES = {"amplification": 0.637, "size": 0.369, "count": 0.552, "reach": 0.101}
SMALLEST, LARGEST = 0.005, 1.0


@dataclass(frozen=True)
class Indicators:
    """What the error of a prediction is estimated from."""

    amplification: float  # test error beside what is left of it without the variance of ŵ
    size: float  # 1/min(m, k)
    count: float  # 1/samples of the smallest component
    reach: float  # deviation of log(1 + γ_t) over types

    @classmethod
    def of(cls, solution: RidgeByTypes | ConvexByTypes) -> Indicators:
        """Return the indicators of a solution."""
        weights = solution.weights
        law = solution.law(solution.mean, solution.no_shift)
        whole = float(weights @ ((solution.labels.means - law.mean) ** 2 + law.variance))
        whole += float(weights @ (solution.labels.variances - 2 * law.label))
        spread = float(weights @ solution.variance)
        used = solution.shares[solution.shares > 0]
        return cls(
            amplification=1 + spread / max(whole, 1e-300),
            size=1 / min(solution.samples, solution.algebra.neurons),
            count=1 / (solution.samples * float(used.min())),
            reach=reach_spread(solution),
        )


def reach_spread(solution: RidgeByTypes | ConvexByTypes) -> float:
    """Return the deviation of log(1 + γ_t) over types."""
    weights, logs = solution.weights, np.log1p(solution.reach)
    mean = float(weights @ logs) / float(weights.sum())
    return float(np.sqrt(weights @ (logs - mean) ** 2))


def notes_of(solution: RidgeByTypes | ConvexByTypes, errors: dict[str, float]) -> list[Note]:
    """Return what is known to fail in a place like this."""
    notes = small_rate_notes(errors)
    if isinstance(solution, ConvexByTypes):
        largest = float(np.max(solution.now.variance))
        notes = loss_notes(solution.loss, bent=solution.bent, largest_variance=largest) + notes
    return notes


def theory_error(solution: RidgeByTypes | ConvexByTypes) -> float:
    """Return the relative error of predicted test errors that nine in ten do not exceed."""
    error = estimated_error(Indicators.of(solution))
    corner = isinstance(solution, ConvexByTypes) and few_margins_bend(solution.loss, solution.bent)
    return max(error, CORNER_ERROR) if corner else error


def estimated_error(indicators: Indicators) -> float:
    """Return the error that follows from the indicators alone; the largest where one is 0."""
    if (
        min(indicators.amplification, indicators.size, indicators.count, indicators.reach + 0.01)
        <= 0
    ):
        return LARGEST
    value = CONSTANT + SLOPES["amplification"] * log(indicators.amplification)
    value += SLOPES["size"] * log(indicators.size) + SLOPES["count"] * log(indicators.count)
    value += SLOPES["reach"] * log(0.01 + indicators.reach)
    return min(max(exp(value), SMALLEST), LARGEST)
