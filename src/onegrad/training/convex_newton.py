"""Newton's method for (1/m) Σ_i e_i(u_i) + (λ/2)‖w‖², u = φw, with convex e_i of their own slopes.

e_i is a smooth loss of sample i, or the smoothed one of `nonsmooth_readout.py`. The objective is
strongly convex: where its gradient is g, w is within ‖g‖/λ of the minimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import qr
from scipy.linalg.blas import dsyrk

from onegrad.calculus.cholesky import solve_ridge
from onegrad.calculus.losses import NamedLoss
from onegrad.describe.arrays import Floats

ACCURACY = 1e-8  # of ‖w‖: where the bound on the error of w ends the iteration
MOST_STEPS = 100
MOST_HALVINGS = 50
SUFFICIENT = 1e-4  # Armijo's share of the decrease that the slope promises
EPSILON = float(np.finfo(np.float64).eps)


class Terms(Protocol):
    """The m terms e_i of an objective, as functions of the m outputs u."""

    def values(self, u: Floats) -> Floats:
        """Return e_i(u_i)."""

    def slopes(self, u: Floats) -> Floats:
        """Return e_i'(u_i)."""

    def curvatures(self, u: Floats) -> Floats:
        """Return e_i''(u_i)."""


@dataclass(frozen=True)
class LossTerms:
    """e_i(u) = ℓ(y_i, u) of a smooth loss."""

    loss: NamedLoss
    labels: Floats

    def values(self, u: Floats) -> Floats:
        """Return ℓ(y_i, u_i)."""
        return self.loss.value(self.labels, u)

    def slopes(self, u: Floats) -> Floats:
        """Return ℓ'(y_i, u_i)."""
        return self.loss.derivative(self.labels, u)

    def curvatures(self, u: Floats) -> Floats:
        """Return ℓ''(y_i, u_i)."""
        return self.loss.curvature(self.labels, u)


@dataclass(frozen=True)
class PenalisedSum:
    """The objective (1/m) Σ_i e_i(u_i) + (λ/2)‖w‖² with u = φw; φ is m × k, already over √k."""

    phi: Floats
    terms: Terms
    ridge: float

    def value(self, u: Floats, weights: Floats) -> float:
        """Return the objective at weights of outputs u."""
        return float(np.mean(self.terms.values(u)) + 0.5 * self.ridge * (weights @ weights))

    def gradient(self, u: Floats, weights: Floats) -> Floats:
        """Return φᵀe'(u)/m + λw."""
        return self.phi.T @ self.terms.slopes(u) / len(u) + self.ridge * weights

    def newton_direction(self, u: Floats, gradient: Floats) -> Floats:
        """Return −(RᵀR + λ)⁻¹ g with the rows √(e''/m) φ of samples that have curvature as R.

        Where they are fewer than k this is (Rᵀ(RRᵀ + λ)⁻¹Rg − g)/λ.
        """
        bends = self.terms.curvatures(u)
        bent = np.flatnonzero(bends > 0)
        if not len(bent):
            return -gradient / self.ridge
        rows = np.sqrt(bends[bent] / len(u))[:, None] * self.phi[bent]
        dual = len(bent) < len(gradient)
        # rows.T is in Fortran order, so nothing is copied.
        gram = dsyrk(1.0, rows.T, trans=1 if dual else 0, lower=1)
        right = rows @ gradient if dual else gradient
        field = f"ridge={self.ridge:.3g}"
        solution = solve_ridge(gram, right, shift=self.ridge, field=field, remedy="raise the ridge")
        return (rows.T @ solution - gradient) / self.ridge if dual else -solution

    def rounding(self, u: Floats) -> float:
        """Return the size of a gradient that is zero but for rounding."""
        slopes = self.terms.slopes(u)
        norms = float(np.linalg.norm(self.phi)) * float(np.linalg.norm(slopes))
        return 4 * EPSILON * norms / len(u)


@dataclass(frozen=True)
class Minimum:
    """Weights, how many steps they took, and a bound on their error as a share of their norm."""

    weights: Floats
    steps: int
    error: float
    converged: bool


def relative_error(gradient: Floats, weights: Floats, ridge: float) -> float:
    """Return ‖g‖/(λ‖w‖), which bounds the distance of w from the minimum over ‖w‖."""
    size, norm = float(np.linalg.norm(gradient)), float(np.linalg.norm(weights))
    if size == 0:
        return 0.0
    return size / (ridge * norm) if norm > 0 else np.inf


def newton_minimum(objective: PenalisedSum, start: Floats, *, accuracy: float) -> Minimum:
    """Return the minimum by damped Newton steps, each one Cholesky factor of k × k."""
    weights, ridge = start, objective.ridge
    u = objective.phi @ weights
    for steps in range(MOST_STEPS + 1):
        gradient = objective.gradient(u, weights)
        error = relative_error(gradient, weights, ridge)
        level = float(np.linalg.norm(gradient)) <= objective.rounding(u)
        if error <= accuracy or level or steps == MOST_STEPS:
            return Minimum(weights, steps, error, error <= accuracy or level)
        direction = objective.newton_direction(u, gradient)
        moved = _line_search(objective, u, weights, direction, float(gradient @ direction))
        if moved is None:
            return Minimum(weights, steps, error, converged=False)
        weights = weights + moved * direction
        u = objective.phi @ weights
    raise AssertionError("the last step returns")


def _line_search(
    objective: PenalisedSum, u: Floats, weights: Floats, direction: Floats, slope: float
) -> float | None:
    """Return the first of 1, ½, ¼, … that decreases the objective enough, up to rounding."""
    before = objective.value(u, weights)
    change, length = objective.phi @ direction, 1.0
    slack = 16 * EPSILON * abs(before)
    for _ in range(MOST_HALVINGS):
        after = objective.value(u + length * change, weights + length * direction)
        if after <= before + SUFFICIENT * length * slope + slack:
            return length
        length /= 2
    return None


def smaller_side(phi: Floats) -> tuple[Floats, Floats | None]:
    """Return φ itself, or for k > m the square factor L of φ = LQᵀ, and Q (k × m).

    The minimum lies in the span of the rows: w = Qv, with ‖w‖ = ‖v‖ and φw = Lv.
    """
    m, k = phi.shape
    if k <= m:
        return phi, None
    basis, upper = qr(phi.T, mode="economic", check_finite=False)
    return np.ascontiguousarray(upper.T), basis
