"""Groups of directions off S: the step's noise lies in the span of its batch, not everywhere.

Two matrices of the batch decide it, B = (1/m̃) Σ r² z zᵀ and A = (1/m̃) Σ r z zᵀ over bulk parts z.
Their free cumulants are φ^{p−1} E r^{2p} and φ^{p−1} E r^p, φ = N/m̃. Gauss's rule of B's spectrum
gives the groups; A follows B as far as they are correlated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onegrad.describe.arrays import Floats

GROUPS, DRAFT_GROUPS = 4, 2


@dataclass(frozen=True)
class BulkGroups:
    """Shares ν_j of the directions, eigenvalues e_j of B/E r² and centred ones a_j of A."""

    shares: Floats
    noise: Floats
    slope: Floats

    @classmethod
    def one(cls) -> BulkGroups:
        """Return a single group of all directions."""
        return cls(np.ones(1), np.ones(1), np.zeros(1))


def bulk_groups(
    residuals: tuple[Floats, Floats], variance: float, ratio: float, *, count: int = GROUPS
) -> BulkGroups:
    """Return the groups for residuals r (values, weights) with `variance` of noise beside."""
    r, w = residuals[0].ravel(), residuals[1].ravel()
    w = w / w.sum()
    square = r**2 + variance
    power = float(w @ square)
    if power <= 0:
        return BulkGroups.one()
    d = square / power
    cumulants = [ratio ** (p - 1) * float(w @ d**p) for p in range(1, 2 * count)]
    nodes, shares = gauss_from_moments(free_moments(cumulants))
    third, fourth = float(w @ (r * square)), float(w @ square**2)
    coupling = third / fourth * power if fourth > 0 else 0.0
    return BulkGroups(shares, nodes, coupling * (nodes - 1))


def free_moments(cumulants: list[float]) -> Floats:
    """Return moments 0, 1, … of the law with these free cumulants: M(x) = 1 + Σ κ_s (xM(x))^s."""
    order = len(cumulants)
    moments = np.zeros(order + 1)
    moments[0] = 1.0
    for _ in range(order):  # each round makes one more moment right
        following = np.zeros(order + 1)
        following[0] = 1.0
        power = np.zeros(order + 1)
        power[0] = 1.0
        shifted = np.concatenate([[0.0], moments[:-1]])
        for cumulant in cumulants:
            power = np.convolve(power, shifted)[: order + 1]
            following += cumulant * power
        moments = following
    return moments


def gauss_from_moments(moments: Floats) -> tuple[Floats, Floats]:
    """Return nodes and weights of Gauss's rule of a law on [0, ∞) by Chebyshev's algorithm."""
    count = len(moments) // 2
    alpha, beta = np.zeros(count), np.zeros(count)
    alpha[0] = moments[1] / moments[0]
    previous, current = np.zeros(2 * count), moments[: 2 * count].astype(float)
    for k in range(1, count):
        following = np.zeros(2 * count)
        for j in range(k, 2 * count - k):
            following[j] = current[j + 1] - alpha[k - 1] * current[j] - beta[k - 1] * previous[j]
        if following[k] <= 1e-10 * current[k - 1] * moments[1] ** 2:
            count = k  # the law has no more points than these
            break
        alpha[k] = following[k + 1] / following[k] - current[k] / current[k - 1]
        beta[k] = following[k] / current[k - 1]
        previous, current = current, following
    jacobi = np.diag(alpha[:count])
    off = np.sqrt(beta[1:count])
    jacobi += np.diag(off, 1) + np.diag(off, -1)
    nodes, vectors = np.linalg.eigh(jacobi)
    return np.maximum(nodes, 0.0), vectors[0] ** 2
