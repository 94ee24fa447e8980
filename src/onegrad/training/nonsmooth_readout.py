"""Readouts of losses whose ℓ' jumps, such as the hinge, by the method of multipliers.

With a multiplier α_i and a reach γ a loss is smoothed to e_i(u) = min_x ℓ(y_i, x) +
(u + γα_i − x)²/(2γ), whose slope is the response f(u + γα_i) and whose curvature f_u. Newton finds
the minimum, α_i ← f(u_i + γα_i) follows, and γ falls. α_i is a slope of ℓ at x_i, which gives the
duality gap of any convex loss without its conjugate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from onegrad.calculus.losses import NamedLoss
from onegrad.describe.arrays import Floats
from onegrad.training.convex_newton import newton_minimum
from onegrad.training.convex_objective import Minimum, PenalisedSum, Sample

ACCURACY, LEAST_ACCURACY = 1e-6, 1e-4  # of ‖w‖, by the duality gap: aimed at, and accepted
INNER_ACCURACY = 1e-9
MOST_STALLED = 3  # rounds in a row that do not halve the error
REACH_FACTOR, LEAST_REACH = 0.1, 1e-6  # of the first reach


@dataclass(frozen=True)
class SmoothedTerms:
    """e_i(u) = min_x ℓ(y_i, x) + (u + γα_i − x)²/(2γ)."""

    loss: NamedLoss
    labels: Floats
    reach: float
    multipliers: Floats

    def slopes(self, u: Floats) -> Floats:
        """Return f(u_i + γα_i)."""
        return self.bends(u)[0]

    def bends(self, u: Floats) -> tuple[Floats, Floats]:
        """Return f(u_i + γα_i) and f_u there."""
        return self.loss.response(self.labels, self.shifted(u), self.reach)

    def shifted(self, u: Floats) -> Floats:
        """Return u_i + γα_i."""
        return u + self.reach * self.multipliers

    def gap(self, u: Floats, gradient: Floats, ridge: float) -> float:
        """Return the duality gap at multipliers f_i = f(u_i + γα_i).

        (1/m) Σ [ℓ(u_i) − ℓ(x_i) − f_i (u_i − x_i)] + ‖g‖²/(2λ): no term is negative.
        """
        x = self.loss.prox(self.labels, self.shifted(u), self.reach)
        rise = self.loss.value(self.labels, u) - self.loss.value(self.labels, x)
        primal = float(np.mean(rise - self.slopes(u) * (u - x)))
        return max(primal, 0.0) + float(gradient @ gradient) / (2 * ridge)


def nonsmooth_minimum(
    sample: Sample, labels: Floats, start: Floats, *, loss: NamedLoss, ridge: float
) -> Minimum:
    """Return argmin (1/m) Σ ℓ(y_i, φ_iᵀw) + (λ/2)‖w‖² for any convex loss.

    The gap G bounds the error, ‖w − ŵ‖ ≤ √(2G/λ). Rounds end when it is small, or falls no more:
    rounding of outputs enters the gap of a loss with jumps in first order.
    """
    weights = start
    # As far as one sample moves its own output: ‖φ_i‖²/(mλ).
    first = sample.norm**2 / (len(labels) ** 2 * ridge) or 1.0
    multipliers: Floats = np.zeros(len(labels))
    reach, stalled = first, 0
    best, done = Minimum(weights, 0, np.inf, converged=False), False
    while not done and stalled < MOST_STALLED:
        terms = SmoothedTerms(loss, labels, reach, multipliers)
        objective = PenalisedSum(sample, terms, ridge)
        inner = newton_minimum(objective, weights, accuracy=INNER_ACCURACY)
        weights, steps = inner.weights, best.steps + inner.steps
        u, norm = objective.outputs(weights), float(np.linalg.norm(weights))
        distance = np.sqrt(2 * terms.gap(u, objective.gradient(u, weights), ridge) / ridge)
        error = float(distance) / norm if norm > 0 else np.inf
        done = error <= ACCURACY or distance * ridge <= objective.rounding(u)
        falling = error < best.error / 2 or reach > LEAST_REACH * first
        stalled = 0 if falling else stalled + 1
        if done or error < best.error:
            best = Minimum(weights, steps, error, done or error <= LEAST_ACCURACY)
        best = replace(best, steps=steps)
        multipliers = terms.slopes(u)
        reach = max(REACH_FACTOR * reach, LEAST_REACH * first)
    return best
