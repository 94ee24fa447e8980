"""Which nodes stand for the coordinates of samples and of neurons.

The strength of a coordinate is the deviation that it causes in pre-activations over that of the
bulk: the stronger it is, the more nodes it needs. Where a product of rules would have too many,
weak coordinates are taken together by a rule of several, and strong ones get fewer nodes, or points
scattered over all of them.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from math import log, prod

import numpy as np

from onegrad.calculus.normal_rules import (
    Rule,
    cross_rule,
    degree_seven_rule,
    normal_rule,
    panel_rule,
    product_rule,
    scattered_rule,
    split_normal_rule,
    stroud_rule,
)
from onegrad.describe.arrays import Floats

NODES = ((0.06, 2), (0.12, 3), (0.4, 5), (0.75, 7), (1.0, 9), (np.inf, 13))
SIDED = ((0.15, 3), (0.5, 4), (1.2, 6), (np.inf, 8))  # on each side of a cut
WEAK, MODERATE = 0.12, 0.35  # strengths up to which a rule of degree 5, of degree 7 is enough
GRADED, GRADED_REACH = 2.0, 1.5  # strength from which nodes are graded, and their reach times it
GRADED_RATIO = 1.15
COARSE = 0.6  # share of the nodes that a coordinate needs below which it is said
SMALLEST_WEIGHT = 1e-7
MORE = 2  # times the nodes there is room for, from which points are scattered in place of products
LEAST_SCATTERED = 384

Panels = tuple[tuple[float, ...], tuple[int, ...]]  # cuts, and nodes between them


@dataclass(frozen=True)
class Coordinate:
    """A standard normal coordinate; `cut` is where what depends on it has a kink, if it has."""

    strength: float
    cut: float | None = None
    least: int = 0  # nodes, where the strength would ask for fewer
    read: bool = False  # whether the label reads it
    wanted: int = 0  # nodes, where there is room

    @property
    def count(self) -> int:
        """Nodes, on each side where there is a cut."""
        table = NODES if self.cut is None else SIDED
        usual = next(nodes for limit, nodes in table if self.strength < limit)
        return max(self.least, self.wanted, usual)

    @property
    def fewest(self) -> int:
        """Nodes that are left where there is little room, on each side of a cut."""
        if self.read:
            return max(self.least, 3)
        return 2 if self.cut is not None or self.strength < MODERATE else 3

    @property
    def fewest_total(self) -> int:
        """Nodes in all that are left where there is little room."""
        return self.fewest if self.cut is None else 2 * self.fewest

    @property
    def total(self) -> int:
        """Nodes in all."""
        return self.count if self.cut is None else 2 * self.count

    def rule(self, count: int) -> Rule:
        """Return the rule with so many nodes, on each side where there is a cut."""
        return _rule(self.panels(count))

    def panels(self, count: int) -> Panels:
        """Return where the rule of so many nodes, on each side of a cut, is cut, and its nodes.

        A very strong coordinate bends features near its cut: part of the nodes lie there.
        """
        if self.cut is None:
            return (), (count,)
        if self.strength < GRADED:
            return (self.cut,), (count, count)
        near = max(1, 2 * count // 5)
        # Of few sizes, so that rules are made once.
        reach = GRADED_REACH / GRADED_RATIO ** round(log(self.strength, GRADED_RATIO))
        cuts = (self.cut - reach, self.cut, self.cut + reach)
        return cuts, (count - near, near, near, count - near)


def _rule(panels: Panels) -> Rule:
    cuts, counts = panels
    if not cuts:
        return normal_rule(counts[0])
    if len(cuts) == 1:
        return split_normal_rule(counts[0], cuts[0])
    return panel_rule(cuts, counts)


@dataclass(frozen=True)
class JointRule:
    """Nodes (rows) and weights of several coordinates, and whether they are fewer than needed."""

    nodes: Floats
    weights: Floats
    coarse: bool = False


NOTHING = JointRule(np.zeros((1, 0)), np.ones(1))


def joint_rule(coordinates: list[Coordinate], most: int) -> JointRule:
    """Return a rule for all coordinates with about `most` nodes at the most."""
    if prod(float(c.total) for c in coordinates) <= most:
        return _product(tuple(c.panels(c.count) for c in coordinates))
    weak = [j for j, c in enumerate(coordinates) if c.cut is None and c.strength < MODERATE]
    strong = [j for j in range(len(coordinates)) if j not in weak]
    least = prod(coordinates[j].fewest_total for j in strong)
    inner = _together([coordinates[j].strength for j in weak], most // max(least, 1))
    apart = float(np.prod([float(coordinates[j].total) for j in weak]))
    if inner is None or len(inner.weights) >= apart:
        weak, strong, inner = [], list(range(len(coordinates))), NOTHING
    counts, coarse = _shrunk([coordinates[j] for j in strong], most // len(inner.weights))
    if _size([coordinates[j] for j in strong], counts) * len(inner.weights) > MORE * most:
        return _scattered(coordinates, most)
    outer = product_rule([coordinates[j].rule(n) for j, n in zip(strong, counts, strict=True)])
    nodes = np.zeros((len(outer[1]) * len(inner.weights), len(coordinates)))
    nodes[:, strong] = np.repeat(outer[0], len(inner.weights), axis=0)
    nodes[:, weak] = np.tile(inner.nodes, (len(outer[1]), 1))
    weights = np.outer(outer[1], inner.weights).ravel()
    return _pruned(nodes, weights, coarse=coarse or inner.coarse)


@functools.lru_cache(maxsize=256)
def _product(panels: tuple[Panels, ...]) -> JointRule:
    """Return the product of rules, which many points of a curve share."""
    rule = _pruned(*product_rule([_rule(own) for own in panels]), coarse=False)
    rule.nodes.flags.writeable = rule.weights.flags.writeable = False
    return rule


def _size(coordinates: list[Coordinate], counts: list[int]) -> int:
    """Return the nodes of a product of rules with so many nodes, on each side of a cut."""
    return prod(n if c.cut is None else 2 * n for n, c in zip(counts, coordinates, strict=True))


def _scattered(coordinates: list[Coordinate], most: int) -> JointRule:
    """Return points scattered over all coordinates, but a rule for the one that the label reads."""
    read = [j for j, c in enumerate(coordinates) if c.read]
    others = [j for j, c in enumerate(coordinates) if not c.read]
    own = product_rule([coordinates[j].rule(coordinates[j].fewest) for j in read])
    places, shares = scattered_rule(len(others), max(most, LEAST_SCATTERED) // len(own[1]))
    nodes = np.zeros((len(own[1]) * len(shares), len(coordinates)))
    nodes[:, read] = np.repeat(own[0], len(shares), axis=0)
    nodes[:, others] = np.tile(places, (len(own[1]), 1))
    return _pruned(nodes, np.outer(own[1], shares).ravel(), coarse=True)


def _pruned(nodes: Floats, weights: Floats, *, coarse: bool) -> JointRule:
    keep = weights > SMALLEST_WEIGHT
    return JointRule(nodes[keep], weights[keep] / weights[keep].sum(), coarse)


def _together(strengths: list[float], room: int) -> JointRule | None:
    """Return one rule of several weak coordinates, None for fewer than three.

    It has degree 7, or 5 where all are very weak; a lower one where there is no room: it says so.
    """
    count = len(strengths)
    if count < 3:
        return None
    weak = max(strengths) < WEAK
    best = None if weak or count > 7 else degree_seven_rule(count)
    rules = [
        (best, False),
        (stroud_rule(count) if count <= 9 else None, not weak),
        (cross_rule(count), True),
    ]
    fitting = ((r, c) for r, c in rules if r is not None and len(r[1]) <= room)
    rule, coarse = next(fitting, (cross_rule(count), True))
    return JointRule(*rule, coarse)


def _shrunk(coordinates: list[Coordinate], most: int) -> tuple[list[int], bool]:
    """Return fewer nodes for the largest rules, until their product is small enough."""
    counts = [c.count for c in coordinates]
    least = [c.fewest for c in coordinates]
    sides = [1 if c.cut is None else 2 for c in coordinates]

    def product() -> float:
        return float(np.prod([s * n for s, n in zip(sides, counts, strict=True)]))

    while product() > most:
        room = [j for j, n in enumerate(counts) if n > least[j]]
        if not room:
            break
        largest = max(room, key=lambda j: sides[j] * counts[j])
        counts[largest] -= 1
    coarse = any(n < COARSE * c.count for n, c in zip(counts, coordinates, strict=True))
    return counts, coarse
