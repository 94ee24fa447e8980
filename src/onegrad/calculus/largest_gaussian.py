"""The probability that one of several correlated Gaussians is not the largest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from onegrad.describe.numbers import Floats

Places = NDArray[np.intp]

RULE_POINTS = 512
MOST_VALUES = 1 << 20  # of one block, types × points × margins
# Of a margin's variance: below, what is left of it given the others is rounding.
SMALLEST_SHARE = 1e-8
SMALLEST_RATE = 1e-300


def not_largest(
    means: Floats, covariances: Floats, own: Places, *, points: int = RULE_POINTS
) -> Floats:
    """Return P(argmax_j u_j ≠ own_t) for u ~ N(means_t, covariances_t), T × K and T × K × K.

    The margins D_j = u_own − u_j are Gaussian and all must be positive. One after the other given
    those before, as by Genz (1992): exact for K = 2, else an average over a fixed rule in K − 2
    dimensions. By 512 points it is within 3e−4 for K = 3 and 5e−3 for K ≤ 10, the mean over some
    tens of types within 2e−4. Covariances may be singular.
    """
    count, outputs = means.shape
    rule = _rule(points if outputs > 2 else 1, outputs - 2)
    size = max(1, MOST_VALUES // (len(rule) * outputs))
    parts = [
        _rates(means[i : i + size], covariances[i : i + size], own[i : i + size], rule)
        for i in range(0, count, size)
    ]
    return np.concatenate(parts)


def _rates(means: Floats, covariances: Floats, own: Places, rule: Floats) -> Floats:
    centres, lower = _margins(means, covariances, own)
    kept = np.ones((len(means), len(rule)))  # P(all margins so far are positive | those before)
    wrong = np.zeros_like(kept)
    drawn: list[Floats] = []
    for i in range(centres.shape[1]):
        known = sum((lower[:, i, j, None] * y for j, y in enumerate(drawn)), centres[:, i, None])
        edge = known / lower[:, i, i, None]
        wrong += kept * ndtr(-edge)
        positive = np.maximum(ndtr(edge), SMALLEST_RATE)
        kept = kept * positive
        if i < rule.shape[1]:
            drawn.append(-ndtri(np.maximum(rule[:, i] * positive, SMALLEST_RATE)))
    return wrong.mean(axis=1)


def _margins(means: Floats, covariances: Floats, own: Places) -> tuple[Floats, Floats]:
    """Return means and lower factors of u_own − u_j, the least certain first."""
    count, outputs = means.shape
    rows = np.arange(count)
    others = np.array([np.delete(np.arange(outputs), j) for j in range(outputs)])[own]
    turn = np.zeros((count, outputs - 1, outputs))
    turn[rows[:, None], np.arange(outputs - 1), others] = -1.0
    turn[rows, :, own] = 1.0
    centres = np.einsum("tij,tj->ti", turn, means)
    matrix = turn @ covariances @ turn.transpose(0, 2, 1)
    variances = np.maximum(np.einsum("tii->ti", matrix), SMALLEST_RATE)
    order = np.argsort(centres / np.sqrt(variances), axis=1)
    matrix = matrix[rows[:, None, None], order[:, :, None], order[:, None, :]]
    return np.take_along_axis(centres, order, axis=1), _lower(matrix)


def _lower(matrix: Floats) -> Floats:
    """Return Cholesky factors; what rounding leaves of a determined margin is not divided by."""
    size = matrix.shape[1]
    lower = np.zeros_like(matrix)
    for j in range(size):
        known = lower[:, j:, :j] @ lower[:, j, :j, None]
        column = matrix[:, j:, j] - known[:, :, 0]
        least = SMALLEST_SHARE * matrix[:, j, j]
        pivot = np.sqrt(np.maximum(column[:, 0], np.maximum(least, SMALLEST_RATE)))
        lower[:, j, j] = pivot
        free = (column[:, 0] > least)[:, None]
        lower[:, j + 1 :, j] = np.where(free, column[:, 1:] / pivot[:, None], 0.0)
    return lower


def _rule(points: int, dimension: int) -> Floats:
    """Return points × dimension of (0, 1): multiples of powers of 1/x, x^{d+1} = x + 1, folded.

    Folding by the tent map makes the integrand continuous across the edges; no point is on them.
    """
    x = 2.0
    for _ in range(64):
        x = (1 + x) ** (1 / (dimension + 1))
    steps = x ** -np.arange(1.0, dimension + 1)
    places = (0.25 + np.outer(np.arange(points), steps)) % 1.0
    return np.abs(2 * places - 1)
