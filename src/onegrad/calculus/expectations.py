"""Gaussian expectations of a function: E[σ(m + s z) H_l(z)] and E[σ(m + s z)²], z ~ N(0, 1).

Closed forms where they exist. Otherwise the trapezoid rule on [−12, 12], which converges
exponentially for smooth σ, or Gauss–Legendre panels split at the kinks. Gauss–Hermite is not
used: the poles of tanh make 120 nodes err by 1e−4 at s = 4, a kink by more at any s.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from onegrad.calculus.closed_forms import normal_density
from onegrad.calculus.expectation_tables import tabulated_coefficients
from onegrad.calculus.function import REACH, Function
from onegrad.calculus.functions import function_of
from onegrad.calculus.interpolation import interpolate
from onegrad.calculus.polynomials import gauss_legendre, orthonormal_hermite
from onegrad.describe.arrays import Floats

STEP = 0.05
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
        table = tabulated_coefficients(
            lambda nodes, scales, most: _quadrature(
                activation, nodes, scales, most, squared=squared
            ),
            m,
            s,
            order,
        )
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


def trapezoid_rule(deviations: Floats, *, largest_step: float = STEP) -> tuple[Floats, Floats]:
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
