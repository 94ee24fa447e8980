"""Quadrature rules for several standard normal coordinates together: directions times lengths."""

from __future__ import annotations

import functools
from itertools import product

import numpy as np
from scipy.linalg import hadamard
from scipy.special import roots_genlaguerre

from onegrad.calculus.normal_rules import END, Rule, gauss_of
from onegrad.calculus.polynomials import gauss_legendre
from onegrad.describe.arrays import Floats

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
