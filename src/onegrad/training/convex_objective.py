"""The objective (1/m) Σ_i e_i(u_i) + (λ/2)‖w‖², u = φw, with convex e_i of continuous slopes.

e_i is a smooth loss of sample i, or the smoothed one of `nonsmooth_readout.py`. The objective is
strongly convex: where its gradient is g, w is within ‖g‖/λ of the minimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk

from onegrad.calculus.cholesky import solve_ridge
from onegrad.calculus.losses import NamedLoss
from onegrad.describe.arrays import Floats

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
    """e_i(u) = s_i ℓ(y_i, u) of a smooth loss; s_i = 1 where samples have no weights."""

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
        """The lower triangle of φφᵀ, made once where k ≥ m; None where that is the larger side."""
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
        """Return −(RᵀR + λ)⁻¹ g with the rows √(e''/m) φ of samples that have curvature as R.

        Where they are fewer than k, or RRᵀ is at hand, this is (Rᵀ(RRᵀ + λ)⁻¹Rg − g)/λ.
        """
        curvatures = self.terms.bends(u)[1]
        bent = np.flatnonzero(curvatures > 0)
        if not len(bent):
            return -gradient / self.ridge
        roots = np.sqrt(curvatures[bent] / len(u))
        phi, whole = self.sample.phi, self.sample.gram
        if whole is not None:
            inner = np.zeros(len(u))
            inner[bent] = roots * self._solved(
                _block(whole, bent, roots), roots * (phi @ gradient)[bent]
            )
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
        """Return where along a direction the objective is nearly least; None where it only rises.

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


def _block(gram: Floats, rows: NDArray[np.intp], scales: Floats) -> Floats:
    """Return the lower triangle of a part of the Gram matrix, scaled from both sides."""
    upper = gram.T  # in C order
    whole = len(rows) == len(gram)
    part = upper.copy() if whole else upper.take(rows, axis=0).take(rows, axis=1)
    part *= scales
    part *= scales[:, None]
    return part.T


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
