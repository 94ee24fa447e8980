"""Chebyshev interpolation of analytic functions of one or two variables."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.polynomial import chebyshev

from onegrad.describe.arrays import Floats

Interval = tuple[float, float]
MOST_NODES = 128


def chebyshev_points(count: int, interval: Interval) -> Floats:
    """Return `count` Chebyshev points of the first kind on the interval."""
    low, high = interval
    unit = np.cos(np.pi * (np.arange(count) + 0.5) / count)
    return (low + high) / 2 + (high - low) / 2 * unit


def chebyshev_transform(count: int) -> Floats:
    """Return the matrix from values at Chebyshev points to Chebyshev coefficients."""
    unit = chebyshev_points(count, (-1.0, 1.0))
    matrix = chebyshev.chebvander(unit, count - 1).T * (2 / count)
    matrix[0] /= 2
    return matrix


def to_unit(values: Floats, interval: Interval) -> Floats:
    """Return the values mapped from the interval to [−1, 1]."""
    low, high = interval
    return (2 * values - (low + high)) / (high - low)


def interpolate(
    function: Callable[[Floats], Floats], points: Floats, *, tolerance: float
) -> Floats | None:
    """Return function(points), shape (rows, points), from few evaluations; None if not smooth.

    `function` maps nodes to (rows, nodes). Nodes are doubled until the last coefficients fall
    below tolerance × the largest.
    """
    low, high = float(points.min()), float(points.max())
    margin = 1e-9 * max(abs(low), abs(high)) + 1e-300
    interval = (low - margin, high + margin)
    count = 16
    while count <= MOST_NODES:
        nodes = chebyshev_points(count, interval)
        series = function(nodes) @ chebyshev_transform(count).T
        if np.abs(series[:, -2:]).max() <= tolerance * np.abs(series).max():
            across = chebyshev.chebvander(to_unit(points, interval), count - 1)
            return series @ across.T
        count *= 2
    return None


def clenshaw(points: Floats, coefficients: Floats) -> Floats:
    """Return Σ_p c_p T_p(points), one column of coefficients per column of points."""
    twice = 2 * points
    current, previous = np.zeros_like(points), np.zeros_like(points)
    for row in coefficients[:0:-1]:
        following = twice * current
        following -= previous
        following += row
        current, previous = following, current
    return points * current - previous + coefficients[0]
