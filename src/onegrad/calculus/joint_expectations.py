"""Gaussian expectations of functions of several correlated projections, v = m + Lz, z ~ N(0, I)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from onegrad.calculus.expectations import hermite_coefficients, split_rule, trapezoid_rule
from onegrad.calculus.function import Function, orthonormal_hermite
from onegrad.describe.numbers import Floats

MOST_ORDERS = 200  # of a series in correlations
STEP = 0.2  # of the trapezoid rule for all but the last direction
PANEL_NODES = 100
# For deviations beyond this a smooth link is split where it turns, as at a kink.
WIDE, WIDE_EDGES = 8.0, (-4.0, 0.0, 4.0)


def orders_for(largest: float) -> int:
    """Return the order beyond which largest^l is below 1e−13, from 2 to MOST_ORDERS."""
    if largest < 1e-12:
        return 2
    if largest >= 1:
        return MOST_ORDERS
    return int(min(MOST_ORDERS, max(2, np.ceil(np.log(1e-13) / np.log(largest)))))


def multi_indices(rank: int, degree: int) -> NDArray[np.intp]:
    """Return all α of `rank` entries with |α| ≤ degree, one per row."""
    rows = np.zeros((1, 0), dtype=np.intp)
    for _ in range(rank):
        left = degree - rows.sum(axis=1)
        last = np.concatenate([np.arange(most + 1) for most in left])
        rows = np.column_stack([np.repeat(rows, left + 1, axis=0), last])
    return rows


def product_coefficients(
    links: Sequence[Function], means: Floats, factor: Floats, order: int
) -> Floats:
    """Return c_α = E[Π_j σ_j(v_j) H_α(z)]/√α! for α_j ≤ order, v = m + Lz, L lower triangular.

    One direction after the other: given z_1 … z_{j−1}, v_j is N(its mean, L_jj²), and the last one
    has the one-dimensional coefficients. A kink is met at its place whatever the correlations.
    """
    table = _given_means(links, means[None, :], factor, order)
    return table.reshape((order + 1,) * len(links))


def _given_means(links: Sequence[Function], means: Floats, factor: Floats, order: int) -> Floats:
    """Return the coefficients for every row of `means`, the multi-indices in one axis."""
    link, deviations = links[0], np.full(len(means), factor[0, 0])
    if len(links) == 1:
        return hermite_coefficients(link, means[:, 0], deviations, order=order).T
    edges = link.kinks if factor[0, 0] <= WIDE else tuple(sorted({*link.kinks, *WIDE_EDGES}))
    if edges:
        nodes, weights = split_rule(means[:, 0], deviations, edges, count=PANEL_NODES)
    else:
        rule = trapezoid_rule(np.abs(factor[:, 0]), largest_step=STEP)
        nodes, weights = (np.broadcast_to(part, (len(means), len(part))) for part in rule)
    values = weights * link(means[:, :1] + factor[0, 0] * nodes)
    rest = means[:, None, 1:] + nodes[:, :, None] * factor[1:, 0]
    inner = _given_means(links[1:], rest.reshape(-1, len(links) - 1), factor[1:, 1:], order)
    basis = np.moveaxis(orthonormal_hermite(nodes, order), 0, 1) * values[:, None, :]
    return (basis @ inner.reshape(*nodes.shape, -1)).reshape(len(means), -1)
