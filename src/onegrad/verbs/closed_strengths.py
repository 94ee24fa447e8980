"""The strengths of all spikes; uniform ones by a rule over them, as every draw has its own."""

from __future__ import annotations

import numpy as np
from scipy.special import roots_jacobi

from onegrad.data.mixture_source import MixtureSource
from onegrad.describe.arrays import Floats

LARGEST_NODES = 2  # of the largest strength


def weighted_strengths(
    source: MixtureSource, spread: float
) -> list[tuple[float, tuple[Floats, ...]]]:
    """Return θ_i of the components of positive weight, with weights where some are uniform."""
    ranks = [c.rank for c in source.components if c.strengths == "uniform" and c.rank]
    return [
        (weight, _strengths_of(source, spread, draw)) for weight, draw in uniform_strengths(ranks)
    ]


def uniform_strengths(ranks: list[int]) -> list[tuple[float, Floats]]:
    """Return a rule for independent U(0, 1), as many as each group has: weights and values.

    ‖Σ‖ is that of the largest strength, so a rule over all of them meets a kink wherever two are
    equal. Here the largest is in each group in turn, with Gauss's rule of its density d·u^{d−1},
    and the others are uniform below it: by Stroud's rule of degree 3 for a cube, two points each.
    """
    count = sum(ranks)
    if not count:
        return [(1.0, np.zeros(0))]
    roots, weights = roots_jacobi(LARGEST_NODES, 0, count - 1)
    largest, shares = (roots + 1) / 2, weights / weights.sum()
    others = (_cube(count - 1) + 1) / 2
    chosen, start = [], 0
    for rank in ranks:
        for value, share in zip(largest, shares, strict=True):
            weight = rank / count * float(share) / len(others)
            chosen += [(weight, np.insert(value * ratios, start, value)) for ratios in others]
        start += rank
    return chosen


def _cube(dimension: int) -> Floats:
    """Return the 2d points of equal weight of Stroud's rule of degree 3 for [−1, 1]^d (Cn: 3-1)."""
    if not dimension:
        return np.zeros((1, 0))
    turns = np.arange(1, 2 * dimension + 1)[:, None] * np.pi / dimension
    odd = np.arange(1, dimension, 2)
    points = np.empty((2 * dimension, dimension))
    points[:, 0 : 2 * len(odd) : 2] = np.sqrt(2 / 3) * np.cos(odd * turns)
    points[:, 1 : 2 * len(odd) : 2] = np.sqrt(2 / 3) * np.sin(odd * turns)
    if dimension % 2:
        points[:, -1] = (-1.0) ** np.arange(1, 2 * dimension + 1) / np.sqrt(3)
    return points


def _strengths_of(source: MixtureSource, spread: float, draw: Floats) -> tuple[Floats, ...]:
    out, used, total = [], 0, None
    for c in source.components:
        if c.strengths == "uniform":
            own = spread * draw[used : used + c.rank]
            used += c.rank
        else:
            own = spread * np.broadcast_to(np.asarray(c.strengths, float), (c.rank,))
        if total is None:
            total = float(own.sum())
        elif source.equal_totals and own.sum() > 0:
            own = own * (total / own.sum())
        if c.weight > 0:
            out.append(own)
    return tuple(out)
