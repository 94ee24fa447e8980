"""Gaussian expectations of a function: E[σ(m + s z) H_l(z)] and E[σ(m + s z)²], z ~ N(0, 1).

One value comes from a closed form if σ has one. Otherwise it is integrated by the trapezoid rule on
[−12, 12], which converges exponentially for smooth σ, or by Gauss–Legendre panels split at the
kinks. Gauss–Hermite is not used: the poles of tanh make 120 nodes err by 1e−4 at s = 4, a kink by
more at any s.

Values at many m and s are interpolated, because the expectations are analytic in both:

- `hermite_coefficients` of many pairs uses a table in m and Taylor's series
  (`expectation_tables.py`);
- `smoothed_derivatives` uses Taylor's series in both arguments around rows that are stored between
  calls;
- `LocalExpectations` uses Chebyshev polynomials in both, for a matrix of means with one column per
  neuron.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, factorial, log, sqrt

import numpy as np
from numpy.polynomial import chebyshev

from onegrad.calculus.expectation_tables import (
    chebyshev_points,
    chebyshev_transform,
    clenshaw,
    interpolate,
    tabulated_coefficients,
    taylor_sum,
    to_unit,
)
from onegrad.calculus.function import (
    BUILT_IN,
    REACH,
    STEP,
    Function,
    gauss_legendre,
    horner,
    normal_density,
    orthonormal_hermite,
    power_basis,
    slope_of_leaky,
)
from onegrad.calculus.functions import function_of
from onegrad.describe.numbers import Floats, Ints, positive_number, whole_number

NODE_SPACING = 0.05
PANEL_NODES = 160
SMALLEST_DEVIATION = 1e-12
_BLOCK = 256
TABLE_FROM = 5_000  # pairs of mean and deviation from which a table pays
# For deviations beyond this a smooth σ looks like a step: panels end where it has settled.
WIDE, WIDE_EDGES = 100.0, (-40.0, 0.0, 40.0)


def hermite_coefficients(
    activation: Function | str, means: Floats, deviations: Floats, *, order: int
) -> Floats:
    """Return â_l = E[σ(m + s z) H_l(z)]/√l! for l = 0 … order, shape (order + 1, *means.shape)."""
    sigma = function_of(activation)
    m, s = _prepared(means, deviations)
    if sigma.coefficients is not None:
        return sigma.coefficients(m, s, order)
    return _integrate(sigma, m, s, order, squared=False)


def second_moment(activation: Function | str, means: Floats, deviations: Floats) -> Floats:
    """Return E[σ(m + s z)²], shape of `means`."""
    sigma = function_of(activation)
    m, s = _prepared(means, deviations)
    if sigma.second_moment is not None:
        return sigma.second_moment(m, s)
    return _integrate(sigma, m, s, 0, squared=True)[0]


def decays(activation: Function | str, means: Floats, deviations: Floats) -> bool:
    """Return whether E[σ(m + s z)²] is finite: its integrand must fall off in the tails."""
    sigma = function_of(activation)
    m, s = _prepared(means, deviations)

    def tail(reach: float) -> float:
        with np.errstate(over="ignore"):
            ends = np.stack([sigma(m + s * reach), sigma(m - s * reach)]).astype(float)
            return float(np.max(np.abs(ends))) * np.exp(-(reach**2) / 4)

    return bool(tail(REACH) <= 0.01 * tail(REACH / 2) + 1e-12)


def _prepared(means: Floats, deviations: Floats) -> tuple[Floats, Floats]:
    m, s = np.broadcast_arrays(np.asarray(means, float), np.asarray(deviations, float))
    return m, np.maximum(s, SMALLEST_DEVIATION)


def _integrate(
    activation: Function, means: Floats, deviations: Floats, order: int, *, squared: bool
) -> Floats:
    m, s = means.ravel(), deviations.ravel()
    if m.size > _BLOCK and np.all(m == m[0]):
        # One mean for all: the expectations are analytic in s, a few values give the rest.
        values = interpolate(
            lambda nodes: _quadrature(
                activation, np.full_like(nodes, m[0]), nodes, order, squared=squared
            ),
            s,
            tolerance=1e-13,
        )
        if values is not None:
            return values.reshape(order + 1, *means.shape)
    if m.size >= TABLE_FROM:
        exact = functools.partial(_quadrature, activation, squared=squared)
        table = tabulated_coefficients(exact, m, s, order)
        if table is not None:
            return table.reshape(order + 1, *means.shape)
    return _quadrature(activation, m, s, order, squared=squared).reshape(order + 1, *means.shape)


def _quadrature(activation: Function, m: Floats, s: Floats, order: int, *, squared: bool) -> Floats:
    out = np.empty((order + 1, m.size))
    for start in range(0, m.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        wide = float(s[part].max()) > WIDE
        edges = tuple(sorted({*activation.kinks, *(WIDE_EDGES if wide else ())}))
        if edges:
            nodes, weights = split_rule(m[part], s[part], edges)
        else:
            nodes, weights = trapezoid_rule(s[part])
        values = np.asarray(activation(m[part, None] + s[part, None] * nodes), dtype=float)
        if squared:
            values = values * values
        if nodes.ndim == 1:
            out[:, part] = (orthonormal_hermite(nodes, order) * weights) @ values.T
        else:
            out[:, part] = np.einsum(
                "lij,ij->li", orthonormal_hermite(nodes, order), values * weights
            )
    return out


def trapezoid_rule(
    deviations: Floats, *, largest_step: float = NODE_SPACING
) -> tuple[Floats, Floats]:
    """Return nodes and weights of the trapezoid rule for z ~ N(0, 1), one rule for all."""
    step = min(largest_step, 0.4 / float(np.max(deviations, initial=0.0) or 1.0))
    half = int(np.ceil(REACH / step))
    nodes = step * np.arange(-half, half + 1)
    return nodes, step * normal_density(nodes)


def split_rule(
    means: Floats,
    deviations: Floats,
    kinks: tuple[float, ...],
    *,
    count: int = PANEL_NODES,
    reach: float = REACH,
) -> tuple[Floats, Floats]:
    """Return nodes and weights for z ~ N(0, 1) in panels that end where m + s z meets a kink.

    A kink far away leaves one panel of 2·reach deviations, for which `count` must suffice.
    """
    edges = [np.full_like(means, -reach)]
    for kink in sorted(kinks):
        edges.append(np.clip((kink - means) / deviations, edges[-1], reach))
    edges.append(np.full_like(means, reach))
    points, weights = gauss_legendre(count)
    nodes, node_weights = [], []
    for left, right in pairwise(edges):
        half = (right - left)[:, None] / 2
        nodes.append(left[:, None] + half * (points + 1))
        node_weights.append(half * weights)
    joined = np.concatenate(nodes, axis=1)
    return joined, np.concatenate(node_weights, axis=1) * normal_density(joined)


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


# Rows s^q D_q, q = 0 … 6, of D_q(m, v) = E σ^{(q)}(m + √(2v) z). As ∂D_q/∂m = D_{q+1} and, because
# Gaussians solve the heat equation, ∂D_q/∂v = D_{q+2}, a row gives every D_q near its place.
RATIO = 1.02  # of neighbouring deviations
SPACING = 0.125  # of means, in deviations
LAST = 6  # order of a row
FARTHEST = 60.0  # mean, in its own deviations: beyond, entries are integrated one by one
SMALLEST = 1e-3  # deviation
BLOCK = 64  # means per block of rows


def smoothed_derivatives(
    function: Function, means: Floats, deviations: Floats, order: int
) -> Floats:
    """Return E σ^{(q)}(m + s z) for q = 0 … order ≤ 3, shape (order + 1, …).

    Times s^q they are right to 1e−6 of σ's size for q ≤ 1, to 1e−5 and 2e−4 for q = 2 and 3.
    """
    m, s = np.broadcast_arrays(np.asarray(means, float), np.asarray(deviations, float))
    if function.coefficients is not None or _is_outside(m, s):
        return _exact(function, m, s, order)
    flat_m, flat_s = m.ravel(), s.ravel()
    places = np.rint(np.log(flat_s) / log(RATIO)).astype(int)
    first = int(places.min())
    scale = RATIO ** np.arange(first, int(places.max()) + 1.0)[places - first]
    relative = flat_m / scale
    nearest = np.rint(relative / SPACING).astype(int)
    rows = _gathered(function, places, nearest)
    shift = relative - nearest * SPACING  # in deviations
    growth = 0.5 * ((flat_s / scale) ** 2 - 1)  # of v, in squared deviations
    out = _moved_rows(rows, shift, growth, order)
    for q in range(1, order + 1):
        out[q] /= scale**q
    return out.reshape(order + 1, *m.shape)


def smoothed_square(function: Function, means: Floats, deviations: Floats) -> Floats:
    """Return E σ(m + s z)², to about 1e−7."""
    if function.second_moment is not None:
        return second_moment(function, means, deviations)
    return smoothed_derivatives(_squared(function), means, deviations, 0)[0]


@functools.lru_cache(maxsize=64)
def slope_of(function: Function) -> Function:
    """Return σ' as a function of its own."""
    if function == BUILT_IN["relu"]:
        return STEP
    leaky = slope_of_leaky(function)
    if leaky is not None:
        return leaky
    return Function(f"{function.name}'", function.required_derivative(), kinks=function.kinks)


@functools.lru_cache(maxsize=64)
def _squared(function: Function) -> Function:
    return Function(f"{function.name}²", lambda u: function(u) ** 2, kinks=function.kinks)


def _is_outside(m: Floats, s: Floats) -> bool:
    """Return whether no rows are stored near some of the arguments."""
    return float(s.min()) < SMALLEST or float(np.max(np.abs(m) / s)) > FARTHEST


def _exact(function: Function, m: Floats, s: Floats, order: int) -> Floats:
    values = hermite_coefficients(function, m, s, order=order)
    scale = np.ones_like(s)
    for q in range(1, order + 1):
        scale = scale * np.sqrt(q) / np.maximum(s, 1e-12)
        values[q] *= scale
    return values


def _gathered(function: Function, places: Ints, nearest: Ints) -> Floats:
    """Return the row of every entry."""
    first = int(places.min())
    own = places - first
    count = int(own.max()) + 1
    low, high = np.full(count, np.iinfo(int).max), np.full(count, np.iinfo(int).min)
    np.minimum.at(low, own, nearest)
    np.maximum.at(high, own, nearest)
    starts, blocks, rows = np.zeros(count, dtype=int), [], 0
    for i in np.flatnonzero(high >= low):
        begin, end = int(low[i]) // BLOCK, int(high[i]) // BLOCK
        starts[i] = rows - begin * BLOCK
        blocks += [_block(function, first + int(i), b) for b in range(begin, end + 1)]
        rows += (end - begin + 1) * BLOCK
    return np.concatenate(blocks)[starts[own] + nearest]


def _moved_rows(rows: Floats, shift: Floats, growth: Floats, order: int) -> Floats:
    """Return s^q D_q = Σ_{a,b} shift^a/a! · growth^b/b! · row_{q+a+2b} for q ≤ order."""
    columns = np.ascontiguousarray(rows.T)
    by_mean = [shift / a for a in range(1, LAST + 1)]
    by_variance = [growth / b for b in range(1, LAST // 2 + 1)]
    # At the new mean and the row's deviation; D_0 needs even orders alone.
    moved = {q: taylor_sum(columns[q:], by_mean) for q in range(0, LAST + 1, 1 if order else 2)}
    return np.stack(
        [
            taylor_sum([moved[p] for p in range(q, LAST + 1, 2)], by_variance)
            for q in range(order + 1)
        ]
    )


@functools.lru_cache(maxsize=20_000)
def _block(function: Function, place: int, block: int) -> Floats:
    """Return rows s^q E σ^{(q)}(m + s z), q ≤ 6, at the means of one block."""
    scale = RATIO**place
    means = SPACING * scale * np.arange(block * BLOCK, (block + 1) * BLOCK)
    values = hermite_coefficients(function, means, np.full(BLOCK, scale), order=LAST)
    roots = np.sqrt([float(factorial(q)) for q in range(LAST + 1)])
    return np.ascontiguousarray(values.T * roots)


MEAN_REACH = 8.0  # deviations of the mean that the interpolation covers
TOLERANCE = 1e-9
MOST_NODES = 512


@dataclass(frozen=True)
class LocalExpectations:
    """(â_0, â_1, â_2) and E σ² at means (rows × k) and the neurons' deviations (k)."""

    activation: Function
    deviations: Floats
    interval: tuple[float, float] = (0.0, 0.0)
    series: Floats | None = None  # (4, degree + 1, k) Chebyshev coefficients in m

    @classmethod
    def build(
        cls, activation: Function, deviations: Floats, *, centre: Floats, reach: Floats
    ) -> LocalExpectations:
        """Return the expectations, ready for means within 8 deviations `reach` of `centre`."""
        if activation.coefficients is not None and activation.second_moment is not None:
            return cls(activation, deviations)
        low = float(np.min(centre - MEAN_REACH * reach)) - 1e-3
        high = float(np.max(centre + MEAN_REACH * reach)) + 1e-3
        ends = float(deviations.min()) * (1 - 1e-9), float(deviations.max()) * (1 + 1e-9) + 1e-12
        table = _fit(activation, (low, high), ends)
        if table is None:  # too wide a range of means: integrate every entry
            return cls(activation, deviations)
        across = chebyshev.chebvander(to_unit(deviations, ends), table.shape[2] - 1)
        return cls(activation, deviations, (low, high), table @ across.T)

    def __call__(self, means: Floats) -> tuple[Floats, Floats]:
        """Return â_0, â_1, â_2 stacked (3 × rows × k), and E σ² (rows × k)."""
        if self.series is None:
            return (
                hermite_coefficients(self.activation, means, self.deviations, order=2),
                second_moment(self.activation, means, self.deviations),
            )
        points = np.clip(to_unit(means, self.interval), -1, 1)
        values = np.stack([clenshaw(points, coefficients) for coefficients in self.series])
        return values[:3], values[3]


def _fit(
    activation: Function, means: tuple[float, float], deviations: tuple[float, float]
) -> Floats | None:
    """Return (4, nodes_m, nodes_s) Chebyshev coefficients, refined until tails vanish, or None."""
    nodes_m, nodes_s = 32, 6
    while True:
        grid_m = chebyshev_points(nodes_m, means)
        grid_s = chebyshev_points(nodes_s, deviations)
        m, s = np.meshgrid(grid_m, grid_s, indexing="ij")
        values = np.concatenate(
            [
                hermite_coefficients(activation, m, s, order=2),
                second_moment(activation, m, s)[None],
            ]
        )
        table = np.einsum(
            "pa,fab,qb->fpq",
            chebyshev_transform(nodes_m),
            values,
            chebyshev_transform(nodes_s),
            optimize=True,
        )
        size = np.abs(table).max()
        rough_m = np.abs(table[:, -2:, :]).max() > TOLERANCE * size
        rough_s = np.abs(table[:, :, -2:]).max() > TOLERANCE * size
        if not (rough_m or rough_s):
            return table
        if max(nodes_m, nodes_s) >= MOST_NODES:
            return None
        nodes_m, nodes_s = nodes_m * (2 if rough_m else 1), nodes_s * (2 if rough_s else 1)


NEGLIGIBLE = 1e-7  # a coefficient below this share of its link's deviation is zero: quadrature
ROUNDING = 1e-13  # the same beside a link's root mean square: a constant has no other parts


def link_moments(link: Function, order: int) -> tuple[Floats, float, float, float]:
    """Return E[σ*H_l] for l ≤ order, √E[σ*²], the deviation, and its share above order.

    Coefficients that are zero up to quadrature and rounding, beside the link's own size, are 0.
    """
    zero, unit = np.zeros(1), np.ones(1)
    with np.errstate(all="ignore"):
        # A power of two: squares of large links do not overflow, and no bit is lost.
        largest = float(np.max(np.abs(link(np.linspace(-4.0, 4.0, 81)))))
        size = 2.0 ** np.floor(np.log2(largest)) if 0 < largest < np.inf else 1.0

        def moved(mean: float) -> Function:
            return Function(link.name, lambda z: link(z) / size - mean, kinks=link.kinks)

        if link.coefficients is None:
            coefficients = hermite_coefficients(moved(0.0), zero, unit, order=order)[:, 0]
        else:
            coefficients = hermite_coefficients(link, zero, unit, order=order)[:, 0] / size
        root = sqrt(second_moment(moved(0.0), zero, unit)[0])
        deviation = sqrt(second_moment(moved(float(coefficients[0])), zero, unit)[0])
        rounding = ROUNDING * root
        unseen = 0.0
        if deviation > rounding:
            unseen = 1 - float(np.sum((coefficients[1:] / deviation) ** 2))
        least = max(NEGLIGIBLE * deviation, rounding)
        coefficients = np.where(np.abs(coefficients) <= least, 0.0, coefficients)
        scales = np.sqrt(np.cumprod([1.0, *range(1, order + 1)]))
        return size * (coefficients * scales), size * root, size * deviation, unseen
