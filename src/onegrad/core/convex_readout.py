"""The second layer by a convex loss with a ridge penalty: logistic regression, hinges, Huber, …

The objective is (1/m) Σ_i e_i(u_i) + (λ/2)‖w‖² with u = φw and convex e_i of continuous slopes. It
is strongly convex: where its gradient is g, w is within ‖g‖/λ of the minimum. If the loss ℓ is
smooth, e_i(u) = ℓ(y_i, u), and L-BFGS or Newton's method finds the minimum.

If ℓ' jumps, as for the hinge, the method of multipliers does. With a multiplier α_i and a reach γ
the loss is smoothed to e_i(u) = min_x ℓ(y_i, x) + (u + γα_i − x)²/(2γ), whose slope is the response
f(u + γα_i) and whose curvature is f_u. Newton finds the minimum, α_i ← f(u_i + γα_i) follows, and γ
falls: slowly, until the samples held by corners of ℓ stay the same, then fast. α_i is a slope of ℓ
at x_i, which gives the duality gap of any convex loss without its conjugate.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, log
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk

from onegrad.calculus.losses import NamedLoss, Truths, get_loss
from onegrad.calculus.spectra import solve_ridge
from onegrad.core.readout import FittedReadout
from onegrad.describe.exceptions import InvalidInput, NotConverged
from onegrad.describe.numbers import Floats

ACCURACY = 1e-8  # of ‖w‖: where the bound on the error of w ends the iteration
PATIENCE = 30  # steps of L-BFGS still to come; if there are more, Newton is faster


@dataclass(frozen=True, kw_only=True)
class ConvexReadout(FittedReadout):
    """Readout weights ŵ by a convex loss, with their training metrics, one per penalty.

    `steps` counts iterations, `error` bounds the weights' distance from the minimum as a share of
    their norm; it is at most 1e−8 for smooth losses and 1e−4 for others, unless the gradient is
    only rounding.
    """

    loss: str
    train_loss: Floats
    steps: tuple[int, ...]
    error: Floats

    def metrics(self) -> dict[str, Floats]:
        """Return the training metrics by name."""
        return {**super().metrics(), "train_loss": self.train_loss}

    @property
    def objective(self) -> Floats:
        """Train loss + (λ/2)‖ŵ‖²."""
        return self.train_loss + 0.5 * self.ridge * self.squared_norm


def loss_readout(
    features: Floats,
    labels: Floats,
    *,
    loss: str,
    ridge: float | Sequence[float],
    sample_weights: Floats | None = None,
) -> ConvexReadout:
    """Return ŵ = argmin (1/m) Σ_i ℓ(y_i, wᵀφ_i/√k) + (λ/2)‖w‖² for each penalty λ.

    `features` φ is (m × k), and is converted to float64. Penalties are solved from the largest
    down, each from the weights of the one before. A minimum that is not reached raises
    NotConverged. With `sample_weights` s ≥ 0, for smooth losses, the first term is
    (1/Σs) Σ_i s_i ℓ(y_i, ·), and training metrics are means with these weights.
    """
    named, penalties = get_loss(loss), np.atleast_1d(np.asarray(ridge, dtype=float))
    phi = np.array(features, dtype=np.float64, order="C")
    y = np.ascontiguousarray(labels, dtype=np.float64)
    if not np.all(np.isfinite(phi)):
        raise InvalidInput(
            "features: some are not finite; bring learning rate, spread, levels, means and norms "
            "nearer to 1, or correct the activation"
        )
    _require_labels_of(named, y)
    relative = None  # weights of mean 1
    if sample_weights is not None:
        if not named.smooth:
            raise InvalidInput(
                f"sample_weights: loss={named.name!r} has a corner and takes none; use a smooth "
                "loss"
            )
        relative = sample_weights * (len(y) / sample_weights.sum())
    phi /= np.sqrt(phi.shape[1])
    sample, minima = Sample(phi), dict[int, Minimum]()
    start: Floats = np.zeros(phi.shape[1])
    for i in np.argsort(-penalties, kind="stable"):
        with np.errstate(over="ignore", invalid="ignore"):  # a step that overflows is not taken
            if named.smooth:
                objective = PenalisedSum(sample, LossTerms(named, y, relative), float(penalties[i]))
                found = smooth_minimum(objective, start)
            else:
                found = nonsmooth_minimum(sample, y, start, loss=named, ridge=float(penalties[i]))
        if not found.converged:
            raise NotConverged(
                f"ridge={penalties[i]:.3g}: weights of loss={named.name!r} may be "
                f"{found.error:.1e} of their norm off the minimum after {found.steps} steps; raise "
                "the ridge, or bring features and labels nearer to 1"
            )
        minima[i], start = found, found.weights
    ordered = [minima[i] for i in range(len(penalties))]
    weights = np.stack([minimum.weights for minimum in ordered], axis=1)
    outputs, column = phi @ weights, y[:, None]

    def mean(values: NDArray[Any]) -> Floats:
        return np.mean(values if relative is None else relative[:, None] * values, axis=0)

    return ConvexReadout(
        ridge=penalties,
        weights=weights,
        train_mse=mean((column - outputs) ** 2),
        loss=named.name,
        train_loss=mean(named.value(column, outputs)),
        train_misclassification=mean(column * outputs < 0),
        steps=tuple(minimum.steps for minimum in ordered),
        error=np.array([minimum.error for minimum in ordered]),
    )


def _require_labels_of(loss: NamedLoss, labels: Floats) -> None:
    """Raise InvalidInput unless labels are finite, and ±1 if the loss needs signs."""
    odd = ~np.isfinite(labels) | (loss.needs_signs & (np.abs(labels) != 1))
    if np.any(odd):
        rule = "must be -1 or 1" if loss.needs_signs else "must be finite"
        raise InvalidInput(
            f"labels={labels[odd][0]:g}: {rule} for loss={loss.name!r}; change them, or choose "
            "another loss"
        )


@dataclass(frozen=True)
class Minimum:
    """Weights, how many steps they took, and a bound on their error as a share of their norm."""

    weights: Floats
    steps: int
    error: float
    converged: bool


def smooth_minimum(objective: PenalisedSum, start: Floats) -> Minimum:
    """Return the minimum by L-BFGS, then by Newton's method if L-BFGS would take too long."""
    quasi = quasi_newton_minimum(objective, start, accuracy=ACCURACY, patience=PATIENCE)
    if quasi.converged:
        return quasi
    start = quasi.weights if np.all(np.isfinite(quasi.weights)) else start
    newton = newton_minimum(objective, start, accuracy=ACCURACY)
    return replace(newton, steps=quasi.steps + newton.steps)


EPSILON = float(np.finfo(np.float64).eps)
MOST_TRIALS = 100
FLAT = 0.1  # of the slope at the start of a line: where its search ends


class Terms(Protocol):
    """The m terms e_i of an objective, as functions of the m outputs u."""

    def slopes(self, u: Floats) -> Floats:
        """Return e_i'(u_i)."""

    def bends(self, u: Floats) -> tuple[Floats, Floats]:
        """Return e_i'(u_i) and e_i''(u_i)."""


@dataclass(frozen=True)
class LossTerms:
    """e_i(u) = s_i ℓ(y_i, u) of a smooth loss; s_i = 1 if samples have no weights."""

    loss: NamedLoss
    labels: Floats
    weights: Floats | None = None

    def slopes(self, u: Floats) -> Floats:
        """Return s_i ℓ'(y_i, u_i)."""
        return self._weighted(self.loss.derivative(self.labels, u))

    def bends(self, u: Floats) -> tuple[Floats, Floats]:
        """Return s_i ℓ'(y_i, u_i) and s_i ℓ''(y_i, u_i)."""
        return self.slopes(u), self._weighted(self.loss.curvature(self.labels, u))

    def _weighted(self, values: Floats) -> Floats:
        return values if self.weights is None else self.weights * values


@dataclass(frozen=True)
class Sample:
    """The features of all samples, m × k, already over √k."""

    phi: Floats

    @cached_property
    def gram(self) -> Floats | None:
        """The lower triangle of φφᵀ, made once if k ≥ m; None if k < m."""
        m, k = self.phi.shape
        # φ.T is φ in Fortran order, so nothing is copied.
        return dsyrk(1.0, self.phi.T, trans=1, lower=1) if k >= m else None

    @cached_property
    def norm(self) -> float:
        """‖φ‖."""
        return float(np.linalg.norm(self.phi))


@dataclass(frozen=True)
class PenalisedSum:
    """The objective (1/m) Σ_i e_i(u_i) + (λ/2)‖w‖² with u = φw."""

    sample: Sample
    terms: Terms
    ridge: float

    def outputs(self, weights: Floats) -> Floats:
        """Return u = φw."""
        return self.sample.phi @ weights

    def gradient(self, u: Floats, weights: Floats) -> Floats:
        """Return φᵀe'(u)/m + λw."""
        return self.sample.phi.T @ (self.terms.slopes(u) / len(u)) + self.ridge * weights

    def newton_direction(self, u: Floats, gradient: Floats) -> Floats:
        """Return −(RᵀR + λ)⁻¹ g, where the rows of R are √(e''/m) φ of samples with curvature.

        If they are fewer than k, or RRᵀ is known, this is (Rᵀ(RRᵀ + λ)⁻¹Rg − g)/λ.
        """
        curvatures = self.terms.bends(u)[1]
        bent = np.flatnonzero(curvatures > 0)
        if not len(bent):
            return -gradient / self.ridge
        roots = np.sqrt(curvatures[bent] / len(u))
        phi, whole = self.sample.phi, self.sample.gram
        if whole is not None:
            gram = _scaled_block(whole, bent, roots)
            inner = np.zeros(len(u))
            inner[bent] = roots * self._solved(gram, roots * (phi @ gradient)[bent])
            return (phi.T @ inner - gradient) / self.ridge
        rows = roots[:, None] * phi[bent]
        if len(bent) < len(gradient):
            gram = dsyrk(1.0, rows.T, trans=1, lower=1)
            return (rows.T @ self._solved(gram, rows @ gradient) - gradient) / self.ridge
        return -self._solved(dsyrk(1.0, rows.T, lower=1), gradient)

    def _solved(self, gram: Floats, right: Floats) -> Floats:
        field = f"ridge={self.ridge:.3g}"
        return solve_ridge(gram, right, shift=self.ridge, field=field, remedy="raise the ridge")

    def step_length(
        self, u: Floats, weights: Floats, *, change: Floats, direction: Floats
    ) -> float | None:
        """Return where along a direction the objective is nearly least; None if it only rises.

        `change` is φ·direction, so that nothing here takes longer than O(m). The slope rises along
        the line: Newton's steps inside a bracket, from 1, until a tenth of the slope is left.
        No values of the objective are compared, whose rounding would hide the last digits of w.
        """
        m, ridge = len(u), self.ridge
        tilt, square = ridge * float(weights @ direction), ridge * float(direction @ direction)
        first = float(self.terms.slopes(u) @ change) / m + tilt
        low, high, length = 0.0, np.inf, 1.0
        for _ in range(MOST_TRIALS):
            slopes, curvatures = self.terms.bends(u + length * change)
            slope = float(slopes @ change) / m + tilt + length * square
            if abs(slope) <= FLAT * abs(first):
                return length
            if slope < 0:
                low = length
            else:  # or nan: too far
                high = length
            bend = float(curvatures @ change**2) / m + square
            length -= slope / bend if bend > 0 else np.nan
            if not low < length < high:
                length = (low + high) / 2 if high < np.inf else 2 * low
        return low or None

    def rounding(self, u: Floats) -> float:
        """Return the size of a gradient that is zero but for rounding."""
        return 4 * EPSILON * self.sample.norm * float(np.linalg.norm(self.terms.slopes(u))) / len(u)


def _scaled_block(gram: Floats, rows: NDArray[np.intp], scales: Floats) -> Floats:
    """Return the lower triangle of a part of the Gram matrix, scaled from both sides."""
    upper = gram.T  # in C order
    whole = len(rows) == len(gram)
    part = upper.copy() if whole else upper.take(rows, axis=0).take(rows, axis=1)
    part *= scales
    part *= scales[:, None]
    return part.T


def relative_error(gradient: Floats, weights: Floats, ridge: float) -> float:
    """Return ‖g‖/(λ‖w‖), which bounds the distance of w from the minimum over ‖w‖."""
    size, norm = float(np.linalg.norm(gradient)), float(np.linalg.norm(weights))
    if size == 0:
        return 0.0
    return size / (ridge * norm) if norm > 0 else np.inf


MOST_NEWTON_STEPS = 100


def newton_minimum(objective: PenalisedSum, start: Floats, *, accuracy: float) -> Minimum:
    """Return the minimum by Newton steps of the best length, each one Cholesky factor."""
    weights, ridge = start, objective.ridge
    u = objective.outputs(weights)
    for steps in range(MOST_NEWTON_STEPS + 1):
        gradient = objective.gradient(u, weights)
        error = relative_error(gradient, weights, ridge)
        level = float(np.linalg.norm(gradient)) <= objective.rounding(u)
        if error <= accuracy or level or steps == MOST_NEWTON_STEPS:
            return Minimum(weights, steps, error, error <= accuracy or level)
        direction = objective.newton_direction(u, gradient)
        change = objective.outputs(direction)
        length = objective.step_length(u, weights, change=change, direction=direction)
        if length is None:
            return Minimum(weights, steps, error, converged=False)
        weights = weights + length * direction
        u = objective.outputs(weights)
    raise AssertionError("the last step returns")


PAIRS = 20
FIRST_JUDGED = 20  # the step from which on the steps to come are estimated
MOST_QUASI_NEWTON_STEPS = 300


def quasi_newton_minimum(
    objective: PenalisedSum, start: Floats, *, accuracy: float, patience: float
) -> Minimum:
    """Return where L-BFGS ends: as near to the minimum as asked, or not converged.

    It gives up if, at the rate so far, more than `patience` steps are still to come.
    """
    weights, pairs = start, deque[tuple[Floats, Floats, float]](maxlen=PAIRS)
    u = objective.outputs(weights)
    gradient = objective.gradient(u, weights)
    steps, worst = 0, 0.0
    while True:
        error = relative_error(gradient, weights, objective.ridge)
        worst = max(worst, error) if error < inf else worst
        if error <= accuracy or _steps_left(steps, worst, error, accuracy) > patience:
            break
        direction = _direction(pairs, gradient)
        change = objective.outputs(direction)
        length = objective.step_length(u, weights, change=change, direction=direction)
        if length is None:
            break
        move = length * direction
        weights, before = weights + move, gradient
        u = u + length * change
        gradient = objective.gradient(u, weights)
        bend, steps = gradient - before, steps + 1
        product = float(move @ bend)
        if not product > 0:  # all of it is rounding
            break
        pairs.append((move, bend, product))
    # The error is that of the weights' own outputs, not of the sum of changes.
    gradient = objective.gradient(objective.outputs(weights), weights)
    error = relative_error(gradient, weights, objective.ridge)
    return Minimum(weights, steps, error, error <= accuracy)


def _steps_left(steps: int, worst: float, error: float, accuracy: float) -> float:
    """Return how many steps are still to come if errors go on falling as they did."""
    if steps < FIRST_JUDGED:
        return 0.0
    falling = error < worst and steps < MOST_QUASI_NEWTON_STEPS
    return steps * log(error / accuracy) / log(worst / error) if falling else inf


def _direction(pairs: deque[tuple[Floats, Floats, float]], gradient: Floats) -> Floats:
    """Return −Hg, H the inverse Hessian estimated from moves and changes of the gradient."""
    direction, shares = -gradient, []
    for move, bend, product in reversed(pairs):
        shares.append(float(move @ direction) / product)
        direction -= shares[-1] * bend
    if pairs:
        _, bend, product = pairs[-1]
        direction *= product / float(bend @ bend)
    for (move, bend, product), share in zip(pairs, reversed(shares), strict=True):
        direction += (share - float(bend @ direction) / product) * move
    return direction


# Of ‖w‖, by the duality gap: aimed at, and accepted.
MULTIPLIER_ACCURACY, LEAST_ACCURACY = 1e-6, 1e-4
INNER_ACCURACY, LEAST_INNER = 0.3, 1e-9  # of a round: a share of the error before it, at least
MOST_STALLED = 3  # rounds in a row that do not halve the error
FIRST_REACH, LEAST_REACH = 0.2, 1e-6  # as far as one sample moves its own output is 1
SLOWLY, FAST = 0.4, 1e-2  # by what the reach falls, before and after the held are known
MULTIPLIER_PATIENCE = 10  # steps of L-BFGS to come, at the first reach
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
        """Return x_i, the point at which e_i evaluates ℓ."""
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

    The gap G bounds the error, ‖w − ŵ‖ ≤ √(2G/λ). Rounds end when the bound is small or no longer
    falls: rounding of outputs enters the gap of a loss with jumps in first order.
    """
    unit = sample.norm**2 / (len(labels) ** 2 * ridge) or 1.0  # ‖φ_i‖²/(mλ)
    terms = SmoothedTerms(loss, labels, FIRST_REACH * unit, np.zeros(len(labels)))
    objective = PenalisedSum(sample, terms, ridge)
    # L-BFGS comes near the minimum at the first reach.
    begun = quasi_newton_minimum(
        objective, start, accuracy=INNER_ACCURACY, patience=MULTIPLIER_PATIENCE
    )
    weights = begun.weights if np.all(np.isfinite(begun.weights)) else start
    best = Minimum(weights, begun.steps, np.inf, converged=False)
    stalled, held = 0, np.zeros(len(labels), dtype=bool)
    while True:
        objective = PenalisedSum(sample, terms, ridge)
        aim = max(INNER_ACCURACY * min(best.error, 1.0), LEAST_INNER)
        inner = newton_minimum(objective, weights, accuracy=aim)
        weights, steps = inner.weights, best.steps + inner.steps
        u, norm = objective.outputs(weights), float(np.linalg.norm(weights))
        gap = terms.gap(u, objective.gradient(u, weights), ridge)
        distance = float(np.sqrt(2 * gap / ridge))
        error = distance / norm if norm > 0 else np.inf
        level = distance * ridge <= objective.rounding(u)  # the bound is only rounding
        falling = error < best.error / 2 or terms.reach > LEAST_REACH * unit
        stalled = 0 if falling else stalled + 1
        if level or error < best.error:
            best = Minimum(weights, steps, error, level or error <= LEAST_ACCURACY)
        best = replace(best, steps=steps)
        if level or error <= MULTIPLIER_ACCURACY or stalled == MOST_STALLED:
            return best
        before, held = held, terms.held(u)
        factor = FAST if np.array_equal(before, held) else SLOWLY
        reach = max(factor * terms.reach, LEAST_REACH * unit)
        terms, weights = next_round(objective, terms, u, weights, reach=reach)
        best = replace(best, steps=best.steps + 1)


def next_round(
    objective: PenalisedSum, terms: SmoothedTerms, u: Floats, weights: Floats, *, reach: float
) -> tuple[SmoothedTerms, Floats]:
    """Return the terms of the next round, with slopes as multipliers, and where it begins.

    That is the minimum if the same samples stay held, unless the gradient is larger there.
    """
    following = replace(terms, reach=reach, multipliers=terms.slopes(u))
    held = replace(objective, terms=HeldTerms(following, terms.held(u), terms.proximal(u)))
    guess = weights + held.newton_direction(u, held.gradient(u, weights))
    true = replace(objective, terms=following)
    sizes = [np.linalg.norm(true.gradient(true.outputs(w), w)) for w in (weights, guess)]
    return following, guess if sizes[1] < sizes[0] else weights
