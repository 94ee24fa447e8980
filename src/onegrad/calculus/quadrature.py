"""Quadrature rules for standard normal coordinates: one, products of several, and many together.

A rule is a pair (nodes, weights); weights sum to 1. Nodes of several coordinates are rows.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from itertools import product

import numpy as np
from scipy.linalg import eigh_tridiagonal, hadamard
from scipy.special import ndtr, ndtri, roots_genlaguerre

from onegrad.calculus.function import gauss_hermite, gauss_legendre
from onegrad.describe.numbers import Floats

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


LENGTH_POINTS = 400  # of the fine grid of lengths


@functools.cache
def sphere_rule(coordinates: int) -> Rule | None:
    """Return a fully symmetric rule of degree 7 on the sphere; None where a weight is negative.

    Points ±e_i, (±e_i ± e_j)/√2 and (±1, …, ±1)/√d, whose weights solve three moment equations; in
    the plane eight points of a circle.
    """
    d = coordinates
    if d == 2:
        angles = np.pi / 4 * (np.arange(8) + 0.5)
        return np.column_stack([np.cos(angles), np.sin(angles)]), np.full(8, 1 / 8)
    axes = np.eye(d)
    pairs = [(i, j) for i in range(d) for j in range(i + 1, d)]
    signs = list(product([-1.0, 1.0], repeat=2))
    orbits = [
        np.concatenate([axes, -axes]),
        np.array([(a * axes[i] + b * axes[j]) / np.sqrt(2) for i, j in pairs for a, b in signs]),
        np.array(list(product([-1.0, 1.0], repeat=d))) / np.sqrt(d),
    ]
    # On the sphere E x⁴ = 3/(d(d+2)) and E x⁶ = 15/(d(d+2)(d+4)); degree 2 follows by symmetry.
    wanted = np.array([1.0, 3 / (d * (d + 2)), 15 / (d * (d + 2) * (d + 4))])
    moments = np.array([[np.mean(part[:, 0] ** power) for part in orbits] for power in (0, 4, 6)])
    shares = np.linalg.solve(moments, wanted)
    if np.any(shares <= 0):
        return None
    weights = [np.full(len(p), s / len(p)) for p, s in zip(orbits, shares, strict=True)]
    return np.concatenate(orbits), np.concatenate(weights)


@functools.cache
def degree_seven_rule(coordinates: int) -> Rule | None:
    """Return a rule of degree 7 for N(0, I_d), or None: two lengths by Gauss's rule of χ²."""
    sphere = sphere_rule(coordinates)
    squares, weights = roots_genlaguerre(2, coordinates / 2 - 1)
    return None if sphere is None else _times(np.sqrt(2 * squares), weights, sphere)


@functools.cache
def ray_rule(coordinates: int, count: int) -> Rule | None:
    """Return a rule for N(0, I_d) with `count` nodes on every ray of the sphere's rule, or None.

    Lengths are those of Gauss's rule of |x|, not of |x|²: what bends at 0 along a ray costs no
    accuracy, as on each side of a cut.
    """
    sphere = sphere_rule(coordinates)
    points, fine = gauss_legendre(LENGTH_POINTS)
    lengths = (END + np.sqrt(coordinates)) / 2 * (points + 1)
    density = lengths ** (coordinates - 1) * np.exp(-(lengths**2) / 2)
    return None if sphere is None else _times(*gauss_of(lengths, fine * density, count), sphere)


def _times(lengths: Floats, weights: Floats, sphere: Rule) -> Rule:
    """Return the product of lengths and directions."""
    nodes = (lengths[:, None, None] * sphere[0]).reshape(-1, sphere[0].shape[1])
    return nodes, np.outer(weights / weights.sum(), sphere[1]).ravel()


def with_signs(rule: Rule, coordinates: int) -> Rule:
    """Return twice as many nodes, with more coordinates of ±1 beside those of the rule.

    Every node has a row of signs and its negative beside it. Rows change from node to node among
    those of a Hadamard matrix, each node taking the one that has the least weight so far: all come
    to nearly the same, and products of two signs nearly vanish on average. Enough for coordinates
    so weak that two nodes each would do, and 2^(coordinates − 1) times cheaper.
    """
    nodes, weights = rule
    size = 1 << coordinates.bit_length()  # more than the coordinates, a power of two
    rows = hadamard(size)[:, 1 : coordinates + 1].astype(float)
    totals, own = [0.0] * size, np.empty(len(weights), dtype=int)
    for node in np.argsort(-weights, kind="stable"):
        least = totals.index(min(totals))
        totals[least] += weights[node]
        own[node] = least
    both = np.stack([np.hstack([nodes, rows[own]]), np.hstack([nodes, -rows[own]])], axis=1)
    return both.reshape(-1, both.shape[-1]), np.repeat(weights / 2, 2)
