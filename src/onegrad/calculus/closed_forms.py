"""Gaussian expectations that have closed forms: single neurons and pairs of them."""

from __future__ import annotations

import numpy as np
from scipy.special import erf, ndtr

from onegrad.calculus.polynomials import orthonormal_hermite
from onegrad.describe.arrays import Floats

FAR = 40.0  # in deviations; the normal density is zero there


def normal_density(t: Floats) -> Floats:
    """Return N'(t) = exp(−t²/2)/√(2π)."""
    return np.exp(-0.5 * t * t) / np.sqrt(2 * np.pi)


def sign_coefficients(means: Floats, deviations: Floats, order: int) -> Floats:
    """Return E[sign(m + s z) H_l(z)]/√l! for l ≤ order, shape (order + 1, …); s > 0.

    With t = m/s: erf(t/√2) for l = 0, then 2(−1)^{l−1} H_{l−1}(t) N'(t)/√l!.
    """
    with np.errstate(over="ignore"):
        t = np.clip(means / deviations, -FAR, FAR)
    out = np.empty((order + 1, *t.shape))
    out[0] = erf(t / np.sqrt(2))
    if order >= 1:
        # Orthonormal, H_{l−1}(−t)/√(l−1)!: the signs alternate by themselves.
        hermite = orthonormal_hermite(-t, order - 1, weight=2 * normal_density(t))
        degrees = np.arange(1, order + 1).reshape(-1, *(1,) * t.ndim)
        out[1:] = hermite / np.sqrt(degrees)
    return out


def step_coefficients(means: Floats, deviations: Floats, order: int) -> Floats:
    """Return E[1(m + s z > 0) H_l(z)]/√l! = (1 + sign)/2 at degree 0, half the sign's beyond."""
    out = 0.5 * sign_coefficients(means, deviations, order)
    out[0] += 0.5
    return out


def relu_coefficients(means: Floats, deviations: Floats, order: int) -> Floats:
    """Return â_l = E[ReLU(m + s z) H_l(z)]/√l! for l ≤ order, shape (order + 1, …).

    With t = m/s: a_0 = m N(t) + s N'(t), a_1 = s N(t), a_q = (−1)^q s H_{q−2}(t) N'(t) for q ≥ 2.
    """
    shape = np.broadcast_shapes(np.shape(means), np.shape(deviations))
    # Without means all neurons share t = 0, and one value of each polynomial serves them.
    t = means / deviations if np.any(means) else np.zeros((1,) * len(shape))
    below, density = ndtr(t), normal_density(t)
    out = np.empty((order + 1, *shape))
    out[0] = means * below + deviations * density
    if order >= 1:
        out[1] = deviations * below
    if order >= 2:
        hermite = orthonormal_hermite(t, order - 2, weight=density)
        for q in range(2, order + 1):
            sign = -1 if q % 2 else 1
            out[q] = sign / np.sqrt(q * (q - 1)) * deviations * hermite[q - 2]
    return out


def relu_second_moment(means: Floats, deviations: Floats) -> Floats:
    """Return E[ReLU(m + s z)²] = (m² + s²) N(t) + m s N'(t), t = m/s."""
    t = means / deviations
    return (means**2 + deviations**2) * ndtr(t) + means * deviations * normal_density(t)


def relu_pair(correlation: Floats, left: Floats, right: Floats) -> Floats:
    """Return E[ReLU(u) ReLU(v)] for zero means, deviations `left` and `right` (arc-cosine kernel).

    s_u s_v (√(1 − R²) + R (π/2 + arcsin R)) / (2π)
    """
    r = np.clip(correlation, -1, 1)
    kernel = np.sqrt(1 - r * r) + r * (np.pi / 2 + np.arcsin(r))
    return left * right * kernel / (2 * np.pi)


def erf_pair(correlation: Floats, left: Floats, right: Floats) -> Floats:
    """Return E[erf(u) erf(v)] = (2/π) arcsin(2 s_u s_v R / √((1 + 2 s_u²)(1 + 2 s_v²)))."""
    scale = 2 * left * right / np.sqrt((1 + 2 * left**2) * (1 + 2 * right**2))
    return 2 / np.pi * np.arcsin(scale * np.clip(correlation, -1, 1))


def sine_pair(correlation: Floats, left: Floats, right: Floats) -> Floats:
    """Return E[sin u sin v] = exp(−(s_u² + s_v²)/2) sinh(s_u s_v R) for zero means."""
    even, odd = 0.5 * (left**2 + right**2), left * right * correlation
    return 0.5 * (np.exp(odd - even) - np.exp(-odd - even))


def sine_coefficients(means: Floats, deviations: Floats, order: int) -> Floats:
    """Return E[sin(m + s z) H_l(z)]/√l! = s^l e^{−s²/2} sin(m + lπ/2)/√l!, for l ≤ order."""
    out = np.empty((order + 1, *np.shape(means)))
    size = np.exp(-0.5 * deviations**2)
    for degree in range(order + 1):
        out[degree] = size * np.sin(means + degree * np.pi / 2)
        size = size * deviations / np.sqrt(degree + 1)
    return out


def sine_second_moment(means: Floats, deviations: Floats) -> Floats:
    """Return E[sin(m + s z)²] = (1 − e^{−2s²} cos 2m)/2."""
    return 0.5 * (1 - np.exp(-2 * deviations**2) * np.cos(2 * means))
