"""Quadrature rules for standard normal coordinates: one at a time, products, and many together.

A rule is a pair (nodes, weights); weights sum to 1. Nodes of several coordinates are rows.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from itertools import product

import numpy as np
from scipy.linalg import eigh_tridiagonal
from scipy.special import ndtr, ndtri

from onegrad.calculus.polynomials import gauss_hermite, gauss_legendre
from onegrad.describe.arrays import Floats

Rule = tuple[Floats, Floats]

SOBOL_SEED = 7
END = 12.0  # beyond it the normal density is below 1e-31


@functools.cache
def normal_rule(count: int) -> Rule:
    """Return Gauss's rule for N(0, 1)."""
    nodes, weights = gauss_hermite(count)
    return nodes, weights / weights.sum()


@functools.cache
def half_range_rule(count: int) -> Rule:
    """Return a rule for N(0, 1) with `count` Gauss nodes on each side of 0.

    The half-line's density has its own orthogonal polynomials, so a kink of link or activation at
    0 costs no accuracy.
    """
    nodes, weights = _one_sided(count, 0.0, END)
    both = np.concatenate([-nodes[::-1], nodes])
    return both, 0.5 * np.concatenate([weights[::-1], weights])


@functools.lru_cache(maxsize=4096)
def split_normal_rule(count: int, cut: float) -> Rule:
    """Return a rule for N(0, 1) with `count` Gauss nodes on each side of `cut`."""
    return half_range_rule(count) if cut == 0 else panel_rule((cut,), (count, count))


@functools.lru_cache(maxsize=4096)
def panel_rule(cuts: tuple[float, ...], counts: tuple[int, ...]) -> Rule:
    """Return a rule for N(0, 1) with so many Gauss nodes on each panel between the cuts."""
    edges = (-END, *cuts, END)
    nodes, weights = [], []
    for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True):
        share = float(ndtr(high) - ndtr(low)) if high <= 0 else float(ndtr(-low) - ndtr(-high))
        if share > 0:
            x, w = _one_sided(count, low, high)
            nodes.append(x)
            weights.append(share * w)
    total = np.concatenate(weights)
    return np.concatenate(nodes), total / total.sum()


def _one_sided(count: int, low: float, high: float) -> Rule:
    """Return Gauss's rule for the normal density on [low, high], weights summing to 1.

    The recurrence of its orthogonal polynomials comes from a fine grid.
    """
    points, fine = gauss_legendre(400)
    z = low + (high - low) / 2 * (points + 1)
    edge = min(max(low, 0.0), high)  # where the density is largest
    w = fine * np.exp(-(z**2 - edge**2) / 2)
    return gauss_of(z, w, count)


def gauss_of(points: Floats, weights: Floats, count: int) -> Rule:
    """Return Gauss's rule of a discrete measure, weights summing to 1, by the Lanczos process."""
    previous, current = np.zeros_like(points), np.sqrt(weights / weights.sum())
    diagonal, beside = np.zeros(count), np.zeros(count)
    basis = [current]
    for i in range(count):
        diagonal[i] = current @ (points * current)
        following = points * current - diagonal[i] * current
        following -= beside[i - 1] * previous if i else 0.0
        for vector in basis:
            following -= (vector @ following) * vector
        beside[i] = np.linalg.norm(following)
        previous, current = current, following / beside[i]
        basis.append(current)
    nodes, vectors = eigh_tridiagonal(diagonal, beside[:-1])
    return nodes, vectors[0] ** 2


def product_rule(rules: Sequence[Rule]) -> Rule:
    """Return the product of rules: nodes (count × coordinates) and weights."""
    nodes = np.zeros((1, 0))
    weights = np.ones(1)
    for x, w in rules:
        nodes = np.column_stack([np.repeat(nodes, len(x), axis=0), np.tile(x, len(nodes))])
        weights = np.outer(weights, w).ravel()
    return nodes, weights


@functools.cache
def stroud_rule(coordinates: int) -> Rule:
    """Return Stroud's rule of degree 5 with positive weights, 2^d + 2d nodes, for d ≥ 3."""
    d = coordinates
    axes = np.sqrt((d + 2) / 2) * np.concatenate([np.eye(d), -np.eye(d)])
    corners = np.sqrt((d + 2) / (d - 2)) * np.array(list(product([-1.0, 1.0], repeat=d)))
    weights = np.concatenate(
        [np.full(2 * d, 4 / (d + 2) ** 2), np.full(2**d, (d - 2) ** 2 / 2**d / (d + 2) ** 2)]
    )
    return np.concatenate([axes, corners]), weights


@functools.cache
def cross_rule(coordinates: int) -> Rule:
    """Return the rule of degree 3 with nodes ±√d e_i, 2d of equal weight."""
    d = coordinates
    nodes = np.sqrt(d) * np.concatenate([np.eye(d), -np.eye(d)])
    return nodes, np.full(2 * d, 0.5 / d)


@functools.lru_cache(maxsize=64)
def scattered_rule(coordinates: int, count: int) -> Rule:
    """Return about `count` points of equal weight for N(0, I_d), for functions with kinks.

    Half of them are quantiles of Sobol's points, the others their negatives: odd powers vanish, and
    a linear map makes the second ones exact.
    """
    half = max(coordinates + 1, count // 2)
    from scipy.stats import qmc  # late: it takes half a second to import

    uniform = qmc.Sobol(coordinates, seed=SOBOL_SEED).random(1 << (half - 1).bit_length())[:half]
    points = ndtri(np.clip(uniform, 1e-9, 1 - 1e-9))
    lower = np.linalg.cholesky(points.T @ points / half)
    points = np.linalg.solve(lower, points.T).T
    return np.concatenate([points, -points]), np.full(2 * half, 0.5 / half)
