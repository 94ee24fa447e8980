"""Quadrature over the coordinates of spikes and step."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np

from onegrad.calculus.normal_rules import half_range_rule
from onegrad.data.mixture import Gaussian
from onegrad.describe.arrays import Floats

SMALLEST_WEIGHT = 1e-7
MOST_TYPES, MOST_IN_ALL = 5000, 15_000  # of a component, and of a mixture
MOST_CONVEX = 2500  # of a mixture, for losses that every type integrates numerically
STRONG_NODES, MEDIUM_NODES = 11, 5  # on each side of 0
STRONG_RATIO = 10.0  # of a spike to the level
READ = 0.02  # share of what the label reads, from which its link needs more nodes


class GridTooLarge(Exception):
    """The spikes and the step of a component leave no grid, or one that is too large."""


def spike_quadrature(
    gaussian: Gaussian,
    loadings: Floats,
    deviations: Floats,
    seen: Floats,
    *,
    power: float,
    jumps: bool = False,
) -> tuple[Floats, Floats]:
    """Return standardised grid points (T × d) and weights; more nodes where spikes are stronger.

    `seen` is what the label reads of every coordinate, `power` the variance of all that it reads.
    The strong coordinates are turned so that the label reads one of them alone: a kink of the link
    then lies where the rule expects it. A label that `jumps` needs more nodes on every coordinate.
    """
    shares = seen[0] ** 2 / power if len(seen) and power > 0 else np.zeros(loadings.shape[1])
    rules = grid_rules(gaussian, loadings, deviations, shares, jumps=jumps)
    count = prod(len(nodes) for nodes, _ in rules)
    if count > MOST_TYPES:
        raise GridTooLarge
    grid = np.array(list(product(*(nodes for nodes, _ in rules)))).reshape(count, len(rules))
    weights = np.array([np.prod(ws) for ws in product(*(w / w.sum() for _, w in rules))])
    strong = [i for i, (nodes, _) in enumerate(rules) if len(nodes) == 2 * STRONG_NODES]
    if len(strong) > 1 and len(seen) and np.linalg.norm(seen[0, strong]) > 0:
        turn, _ = np.linalg.qr(np.column_stack([seen[0, strong], np.eye(len(strong))]))
        grid[:, strong] = grid[:, strong] @ turn.T
    keep = weights > SMALLEST_WEIGHT
    return grid[keep], weights[keep] / weights[keep].sum()


def grid_rules(
    gaussian: Gaussian,
    loadings: Floats,
    deviations: Floats,
    shares: Floats,
    *,
    jumps: bool = False,
) -> list[tuple[Floats, Floats]]:
    """Return nodes and weights along every conditioned direction, more where it is stronger.

    `shares` are those of the label's projection: a link is not read off three nodes.
    """
    spikes = len(gaussian.strengths)
    strength = np.sqrt(np.mean(loadings**2, axis=0) / np.mean(deviations**2))
    # One coordinate has most of what a jumping label reads: there the rule is finest.
    first = int(np.argmax(shares)) if jumps and np.any(shares > READ) else None
    rules = []
    for i in range(loadings.shape[1]):
        ratio = gaussian.strengths[i] / gaussian.level if i < spikes else 0.0
        if ratio >= STRONG_RATIO or i == first:
            rules.append(half_range_rule(STRONG_NODES))
        elif ratio >= 2 or strength[i] > 0.5 or shares[i] > READ or jumps:
            rules.append(half_range_rule(MEDIUM_NODES))
        else:
            rules.append(np.polynomial.hermite_e.hermegauss(3))
    return rules
