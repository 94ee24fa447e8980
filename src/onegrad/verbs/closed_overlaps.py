"""Settings whose teacher overlaps differently with the spikes, which is what draws differ in."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from onegrad.describe.arrays import Floats
from onegrad.theory.closed.frame import Frame
from onegrad.theory.closed.setting import ClosedSetting

# Gauss's rule of g² for g ~ N(0, 1): two nodes, exact to the third power.
LENGTHS = np.sqrt(3 + np.array([-1.0, 1.0]) * np.sqrt(6))
LENGTH_WEIGHTS = 0.5 + np.array([1.0, -1.0]) / np.sqrt(6)
MATTERS = 0.1  # θ·axes/n from which overlaps are averaged over: below, it changes .03 % at the most


def with_overlaps(
    base: ClosedSetting, spikes: int, share: float
) -> list[tuple[float, ClosedSetting]]:
    """Return settings with other overlaps of ξ and the spikes, and their weights.

    `share` is θ·axes/n for a random ξ, else 0; `spikes` is the number of axes that spikes span.
    (ξᵀγ)² is ‖ξ‖²/n times χ² of one degree. For up to two axes its mean is a product of rules; for
    more it is taken for one axis at a time, which is exact where errors are sums over axes.
    """
    if share < MATTERS or not spikes:
        return [(1.0, base)]
    one = np.ones(spikes)
    if spikes <= 2:
        chosen = []
        for places in product(range(2), repeat=spikes):
            weight = float(np.prod(LENGTH_WEIGHTS[list(places)]))
            chosen.append((weight, LENGTHS[list(places)]))
        if len(_distinct_axes(base.frame, spikes)) < spikes:  # (a, b) is (b, a)
            chosen = [chosen[0], (2 * chosen[1][0], chosen[1][1]), chosen[3]]
    else:
        chosen = [(1.0 - spikes, one)]
        for axis, count in _distinct_axes(base.frame, spikes).items():
            for length, weight in zip(LENGTHS, LENGTH_WEIGHTS, strict=True):
                lengths = one.copy()
                lengths[axis] = length
                chosen.append((count * float(weight), lengths))
    return [(weight, _overlapping(base, lengths)) for weight, lengths in chosen]


def _overlapping(base: ClosedSetting, lengths: Floats) -> ClosedSetting:
    """Return the setting with overlaps of ξ and the spikes that are so many times as large."""
    frame = base.frame
    total = float(frame.reads @ frame.reads) + frame.reads_off**2
    reads = frame.reads.copy()
    reads[: len(lengths)] *= lengths
    off = float(np.sqrt(max(total - float(reads @ reads), 0.0)))
    return replace(base, frame=replace(frame, reads=reads, reads_off=off))


def _distinct_axes(frame: Frame, count: int) -> dict[int, int]:
    """Return axes that no exchange of axes and components maps to each other, and how many each is.

    Two components of one weight and law, each with its own spike, have one such axis.
    """
    distinct: dict[int, int] = {}
    for axis in range(count):
        same = (other for other in distinct if _is_exchangeable(frame, axis, other))
        first = next(same, axis)
        distinct[first] = distinct.get(first, 0) + 1
    return distinct


def _is_exchangeable(frame: Frame, one: int, other: int) -> bool:
    order = np.arange(frame.size)
    order[[one, other]] = order[[other, one]]
    left = list(frame.parts)
    for part in frame.parts:
        moved = part.covariance[np.ix_(order, order)], part.mean[order]
        match = next(
            (
                p
                for p in left
                if (p.weight, p.level, p.label) == (part.weight, part.level, part.label)
                and np.allclose(p.covariance, moved[0])
                and np.allclose(p.mean, moved[1])
            ),
            None,
        )
        if match is None:
            return False
        left = [p for p in left if p is not match]
    return True
