"""Readouts of losses whose ℓ' jumps, such as the hinge, by the method of multipliers.

With a multiplier α_i and a reach γ a loss is smoothed to e_i(u) = min_x ℓ(y_i, x) +
(u + γα_i − x)²/(2γ), whose slope is the response f(u + γα_i) and whose curvature f_u. Newton finds
the minimum, α_i ← f(u_i + γα_i) follows, and γ falls: slowly, until the samples that corners of ℓ
hold stay the same, then fast. α_i is a slope of ℓ at x_i, which gives the duality gap of any convex
loss without its conjugate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from onegrad.calculus.losses import NamedLoss, Truths
from onegrad.describe.arrays import Floats
from onegrad.training.convex_newton import newton_minimum
from onegrad.training.convex_objective import Minimum, PenalisedSum, Sample
from onegrad.training.convex_quasi_newton import quasi_newton_minimum

ACCURACY, LEAST_ACCURACY = 1e-6, 1e-4  # of ‖w‖, by the duality gap: aimed at, and accepted
INNER_ACCURACY, LEAST_INNER = 0.3, 1e-9  # of a round: a share of the error before it, at least
MOST_STALLED = 3  # rounds in a row that do not halve the error
FIRST_REACH, LEAST_REACH = 0.2, 1e-6  # as far as one sample moves its own output is 1
SLOWLY, FAST = 0.4, 1e-2  # by what the reach falls, before and after the held are known
PATIENCE = 10  # steps of L-BFGS to come, at the first reach
HELD = 1 - 1e-9  # of 1/γ: the curvature of a sample that a corner holds


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

    def proximal(self, u: Floats) -> Floats:
        """Return x_i, which e_i takes ℓ at."""
        return self.loss.prox(self.labels, self.shifted(u), self.reach)

    def held(self, u: Floats) -> Truths:
        """Return which samples have a corner of ℓ as x_i."""
        return self.bends(u)[1] * self.reach >= HELD

    def gap(self, u: Floats, gradient: Floats, ridge: float) -> float:
        """Return the duality gap at multipliers f_i = f(u_i + γα_i).

        (1/m) Σ [ℓ(u_i) − ℓ(x_i) − f_i (u_i − x_i)] + ‖g‖²/(2λ): no term is negative.
        """
        x = self.proximal(u)
        rise = self.loss.value(self.labels, u) - self.loss.value(self.labels, x)
        primal = float(np.mean(rise - self.slopes(u) * (u - x)))
        return max(primal, 0.0) + float(gradient @ gradient) / (2 * ridge)


@dataclass(frozen=True)
class HeldTerms:
    """Smoothed terms that are parabolas, f = (u + γα_i − c_i)/γ, where corners c_i hold x_i."""

    smoothed: SmoothedTerms
    held: Truths
    corners: Floats

    def slopes(self, u: Floats) -> Floats:
        """Return f."""
        return self.bends(u)[0]

    def bends(self, u: Floats) -> tuple[Floats, Floats]:
        """Return f and f_u, 1/γ where a corner holds."""
        (f, bend), reach = self.smoothed.bends(u), self.smoothed.reach
        parabola = (self.smoothed.shifted(u) - self.corners) / reach
        return np.where(self.held, parabola, f), np.where(self.held, 1 / reach, bend)


def nonsmooth_minimum(
    sample: Sample, labels: Floats, start: Floats, *, loss: NamedLoss, ridge: float
) -> Minimum:
    """Return argmin (1/m) Σ ℓ(y_i, φ_iᵀw) + (λ/2)‖w‖² for any convex loss.

    The gap G bounds the error, ‖w − ŵ‖ ≤ √(2G/λ). Rounds end when it is small, or falls no more:
    rounding of outputs enters the gap of a loss with jumps in first order.
    """
    unit = sample.norm**2 / (len(labels) ** 2 * ridge) or 1.0  # ‖φ_i‖²/(mλ)
    terms = SmoothedTerms(loss, labels, FIRST_REACH * unit, np.zeros(len(labels)))
    inner = _begun(PenalisedSum(sample, terms, ridge), start)
    best, stalled, held = replace(inner, error=np.inf), 0, np.zeros(len(labels), dtype=bool)
    while True:
        objective = PenalisedSum(sample, terms, ridge)
        aim = max(INNER_ACCURACY * min(best.error, 1.0), LEAST_INNER)
        inner = newton_minimum(objective, inner.weights, accuracy=aim)
        u, steps = objective.outputs(inner.weights), best.steps + inner.steps
        error, level = _error(objective, terms, u, inner.weights)
        falling = error < best.error / 2 or terms.reach > LEAST_REACH * unit
        stalled = 0 if falling else stalled + 1
        if level or error < best.error:
            best = Minimum(inner.weights, steps, error, level or error <= LEAST_ACCURACY)
        best = replace(best, steps=steps)
        if level or error <= ACCURACY or stalled == MOST_STALLED:
            return best
        before, held = held, terms.held(u)
        factor = FAST if np.array_equal(before, held) else SLOWLY
        reach = max(factor * terms.reach, LEAST_REACH * unit)
        terms, inner = _following(objective, terms, u, inner.weights, reach=reach)
        best = replace(best, steps=best.steps + inner.steps)


def _begun(objective: PenalisedSum, start: Floats) -> Minimum:
    """Return where L-BFGS comes at the first reach, or the start where it comes nowhere."""
    quasi = quasi_newton_minimum(objective, start, accuracy=INNER_ACCURACY, patience=PATIENCE)
    finite = bool(np.all(np.isfinite(quasi.weights)))
    return replace(quasi, weights=quasi.weights if finite else start, converged=False)


def _error(
    objective: PenalisedSum, terms: SmoothedTerms, u: Floats, weights: Floats
) -> tuple[float, bool]:
    """Return the bound on the error over ‖w‖, and whether it is nothing but rounding."""
    ridge, norm = objective.ridge, float(np.linalg.norm(weights))
    gap = terms.gap(u, objective.gradient(u, weights), ridge)
    distance = float(np.sqrt(2 * gap / ridge))
    level = distance * ridge <= objective.rounding(u)
    return distance / norm if norm > 0 else np.inf, level


def _following(
    objective: PenalisedSum, terms: SmoothedTerms, u: Floats, weights: Floats, *, reach: float
) -> tuple[SmoothedTerms, Minimum]:
    """Return the terms of the next round, with slopes as multipliers, and where it begins.

    That is the minimum if the same samples stay held, unless the gradient is larger there.
    """
    following = replace(terms, reach=reach, multipliers=terms.slopes(u))
    held = replace(objective, terms=HeldTerms(following, terms.held(u), terms.proximal(u)))
    guess = weights + held.newton_direction(u, held.gradient(u, weights))
    true = replace(objective, terms=following)
    sizes = [np.linalg.norm(true.gradient(true.outputs(w), w)) for w in (weights, guess)]
    return following, Minimum(guess if sizes[1] < sizes[0] else weights, 1, np.inf, False)
