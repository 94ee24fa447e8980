"""Probabilists' Hermite polynomials, orthonormal: H_l/√l!, so that nothing overflows."""

from __future__ import annotations

import functools
from math import factorial

import numpy as np
from numpy.polynomial import hermite_e, legendre

from onegrad.describe.arrays import Floats


def orthonormal_hermite(points: Floats, order: int, *, weight: Floats | float = 1.0) -> Floats:
    """Return weight·H_l(points)/√l! for l = 0 … order, shape (order + 1, *points.shape).

    √(l+1) h_{l+1} = z h_l − √l h_{l−1}; a small weight keeps far points from overflowing.
    """
    z = np.asarray(points, dtype=float)
    out = np.empty((order + 1, *z.shape))
    out[0] = weight
    if order >= 1:
        out[1] = z * weight
    for degree in range(1, order):
        out[degree + 1] = z * out[degree] - np.sqrt(degree) * out[degree - 1]
        out[degree + 1] /= np.sqrt(degree + 1)
    return out


def power_basis(coefficients: Floats, scale: float) -> Floats:
    """Return p_0 … p_D with Σ_l ĉ_l H_l(u/scale)/√l! = Σ_j p_j u^j."""
    factorials = np.array([float(factorial(j)) for j in range(len(coefficients))])
    powers = hermite_e.herme2poly(coefficients / np.sqrt(factorials))
    padded = np.zeros(len(coefficients))
    padded[: len(powers)] = powers
    return padded / scale ** np.arange(len(coefficients))


def horner(powers: Floats, points: Floats) -> Floats:
    """Return Σ_j powers_j points^j in the precision of `points`."""
    kind = points.dtype.type
    out = np.full_like(points, kind(powers[-1]))
    for coefficient in powers[-2::-1]:
        out *= points
        out += kind(coefficient)
    return out


@functools.cache
def gauss_hermite(count: int) -> tuple[Floats, Floats]:
    """Return nodes and weights of Gauss–Hermite quadrature for exp(−z²/2)."""
    return hermite_e.hermegauss(count)


@functools.cache
def gauss_legendre(count: int) -> tuple[Floats, Floats]:
    """Return nodes and weights of Gauss–Legendre quadrature on [−1, 1]."""
    return legendre.leggauss(count)


def polynomial_coefficients(
    powers: Floats, means: Floats, deviations: Floats, order: int
) -> Floats:
    """Return E[P(m + s z) H_l(z)]/√l! for l ≤ order, exact by Gauss–Hermite quadrature."""
    nodes, weights = gauss_hermite((len(powers) + order) // 2 + 1)
    values = horner(powers, means[..., None] + deviations[..., None] * nodes)
    weighted = orthonormal_hermite(nodes, order) * (weights / np.sqrt(2 * np.pi))
    return np.moveaxis(values @ weighted.T, -1, 0)
