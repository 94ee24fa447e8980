"""Expectations at many means and few deviations, from a table and Taylor's series.

â_l(m, s) = E[σ(m + s z)H_l(z)]/√l! is analytic in both arguments, and its derivatives in m are the
next coefficients: ∂â_l/∂m = √(l+1)/s · â_{l+1}. So a table over a grid of means, fine beside s, and
a polynomial in s at each of them give all values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.polynomial import chebyshev

from onegrad.describe.numbers import Floats

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


def taylor_sum(terms: Sequence[Floats] | Floats, factors: Sequence[Floats]) -> Floats:
    """Return t_0 + f_1 (t_1 + f_2 (t_2 + …)), by Horner's scheme; factors may be left over.

    With derivatives as terms and factors δ/1, δ/2, … this is Taylor's series at a distance δ.
    """
    value: Floats = terms[-1]
    for place in range(len(terms) - 1, 0, -1):
        value = value * factors[place - 1] + terms[place - 1]
    return value


SPACING = 0.25  # of table means, in the smallest deviation
TERMS = 11  # of Taylor's series: (1/8)^11 √(17!/6!)/11! leaves 2e−12
TOLERANCE = 1e-12
MOST_MEANS = 20_000  # of a table
BLOCK = 1 << 16

Coefficients = Callable[[Floats, Floats, int], Floats]  # of means, deviations and order


def tabulated_coefficients(
    exact: Coefficients, means: Floats, deviations: Floats, order: int
) -> Floats | None:
    """Return coefficients 0 … order at pairs of means and deviations (1-D), None if that is dearer.

    `exact` returns them by quadrature, (order + 1) × pairs.
    """
    scales, own = np.unique(deviations, return_inverse=True)
    low, high, smallest = float(means.min()), float(means.max()), float(scales[0])
    count = int((high - low) / (SPACING * smallest)) + 2 if high > low else 2
    if count > MOST_MEANS or 4 * count * min(len(scales), 32) > len(means):
        return None
    grid = np.linspace(low, high, count) if high > low else np.array([low, low + 1.0])
    whole = order + TERMS

    def on_grid(nodes: Floats) -> Floats:
        """Return the coefficients at all pairs of grid and nodes, (order + 1)·grid × nodes."""
        means, deviations = np.repeat(grid, len(nodes)), np.tile(nodes, len(grid))
        return exact(means, deviations, whole).reshape(-1, len(nodes))

    table = interpolate(on_grid, scales, tolerance=TOLERANCE)
    if table is None:
        return None
    by_place = np.ascontiguousarray(table.reshape(whole + 1, count, -1).transpose(2, 1, 0))
    step = grid[1] - grid[0]
    out = np.empty((order + 1, len(means)))
    for start in range(0, len(means), BLOCK):
        part = slice(start, start + BLOCK)
        nearest = np.minimum(np.rint((means[part] - low) / step).astype(int), count - 1)
        shift = (means[part] - grid[nearest]) / deviations[part]
        out[:, part] = _moved(by_place[own[part], nearest], shift, order)
    return out


def _moved(rows: Floats, shift: Floats, order: int) -> Floats:
    """Return â_l at means moved by `shift` deviations, from rows of coefficients at one mean each.

    â_l(m + δs) = Σ_j δ^j/j! · √((l+j)!/l!) · â_{l+j}(m)
    """
    out = np.empty((order + 1, len(shift)))
    for degree in range(order + 1):
        factors = [shift * np.sqrt(degree + j) / j for j in range(1, TERMS + 1)]
        out[degree] = taylor_sum(rows[:, degree : degree + TERMS + 1].T, factors)
    return out
