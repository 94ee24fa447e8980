"""The Hermite expansion of an activation at one scale, and the degree that the theorem asks for."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from onegrad.calculus.expectations import hermite_coefficients, second_moment
from onegrad.calculus.function import Function
from onegrad.calculus.polynomials import horner, power_basis
from onegrad.describe.arrays import Floats
from onegrad.describe.checks import positive_number, whole_number

LARGEST_DEGREE = 20  # of any Hermite model: higher ones overflow where σ does not grow
DEGREE_CAP = 4  # the published plots stop here; beta = 1 lies outside the theorem


@dataclass(frozen=True)
class HermiteExpansion:
    """σ̂(u) = Σ_{j≤D} (h_j/j!) H_j(u/b) + h* z with h_j = E[H_j(z) σ(b z)].

    `coefficients` are h_j/√j!, `powers` the same polynomial in powers of u, and
    `noise_variance` is h*² = E σ(bz)² − Σ_j h_j²/j!, at least 0.
    """

    scale: float
    coefficients: Floats
    powers: Floats
    noise_variance: float

    @property
    def degree(self) -> int:
        """D, the highest degree kept."""
        return len(self.coefficients) - 1

    def __call__(self, points: Floats) -> Floats:
        """Return the polynomial part at `points`."""
        return horner(self.powers, points)


def expand(activation: Function | str, scale: float, *, degree: int) -> HermiteExpansion:
    """Return the Hermite expansion of σ at deviation b = scale (Demir & Dogan [1], Theorem 2)."""
    positive_number("scale", scale)
    whole_number("degree", degree, least=0)
    zero, deviation = np.zeros(1), np.array([scale])
    coefficients = hermite_coefficients(activation, zero, deviation, order=degree)[:, 0]
    total = float(second_moment(activation, zero, deviation)[0])
    # Rounding can leave a residual just below zero for polynomials: h* is then 0.
    residual = max(0.0, total - float(coefficients @ coefficients))
    return HermiteExpansion(scale, coefficients, power_basis(coefficients, scale), residual)


def theorem_degree(strength: float, *, cap: int = DEGREE_CAP) -> int:
    """Return min(cap, max(1, ⌈β/(1 − β + 1e−6)⌉)), the degree of the equivalent model.

    The theorem covers (l−2)/(l−1) < β < (l−1)/l with degree l − 1.
    """
    beta = min(max(strength, 0.0), 1.0)
    return min(cap, max(1, ceil(beta / (1 - beta + 1e-6))))
