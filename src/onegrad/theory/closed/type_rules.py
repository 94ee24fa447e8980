"""Which nodes stand for several coordinates of samples or of neurons together.

Where a product of rules would have too many, weak coordinates are taken together by a rule of
several and strong ones get fewer nodes; where those are too few, strong ones are taken together by
directions and lengths; where that has too many still, points are scattered over all of them.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from math import prod

import numpy as np

from onegrad.calculus.normal_rules import (
    Rule,
    cross_rule,
    product_rule,
    scattered_rule,
    stroud_rule,
)
from onegrad.calculus.sphere_rules import degree_seven_rule, ray_rule, with_signs
from onegrad.describe.arrays import Floats
from onegrad.theory.closed.type_coordinates import MODERATE, Coordinate, Panels, panelled

WEAK = 0.12  # strength up to which a rule of degree 5 is enough; of degree 7 up to MODERATE
COARSE = 0.6  # share of the nodes that a coordinate needs below which it is said
SMALLEST_WEIGHT = 1e-7
MORE = 2  # times the nodes there is room for, from which points are scattered in place of products
LEAST_SCATTERED = 384
RAYS = 0.7  # strength up to which directions of degree 7 are as good as a product
RAY_NODES, MOST_ON_RAYS = 3, 8


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
    fewer = _fewer(coordinates, most)
    if fewer is not None and not fewer.coarse:
        return fewer
    room = most if fewer is not None else max(MORE * most, LEAST_SCATTERED)
    return on_rays(coordinates, room) or fewer or _scattered(coordinates, most)


def _fewer(coordinates: list[Coordinate], most: int) -> JointRule | None:
    """Return weak coordinates together, the others with fewer nodes; None where that is not few."""
    weak = [j for j, c in enumerate(coordinates) if c.cut is None and c.strength < MODERATE]
    strong = [j for j in range(len(coordinates)) if j not in weak]
    least = prod(coordinates[j].fewest_total for j in strong)
    inner = _together([coordinates[j].strength for j in weak], most // max(least, 1))
    apart = float(np.prod([float(coordinates[j].total) for j in weak]))
    if inner is None or len(inner.weights) >= apart:
        weak, strong, inner = [], list(range(len(coordinates))), NOTHING
    own = [coordinates[j] for j in strong]
    counts, coarse = _shrunk(own, most // len(inner.weights))
    if _size(own, counts) * len(inner.weights) > MORE * most:
        return None
    nodes, weights = _placed(
        _crossed(_own_rules(own, counts), (inner.nodes, inner.weights)), [*strong, *weak]
    )
    return _pruned(nodes, weights, coarse=coarse or inner.coarse)


def _own_rules(coordinates: list[Coordinate], counts: list[int]) -> Rule:
    """Return the product of every coordinate's own rule with so many nodes."""
    return product_rule([c.rule(n) for c, n in zip(coordinates, counts, strict=True)])


def _crossed(outer: Rule, inner: Rule) -> Rule:
    """Return the product of two rules of several coordinates each."""
    nodes = np.hstack(
        [np.repeat(outer[0], len(inner[1]), axis=0), np.tile(inner[0], (len(outer[1]), 1))]
    )
    return nodes, np.outer(outer[1], inner[1]).ravel()


def _placed(rule: Rule, places: list[int]) -> Rule:
    """Return the rule with its coordinates moved to these places."""
    nodes = np.empty_like(rule[0])
    nodes[:, places] = rule[0]
    return nodes, rule[1]


def on_rays(coordinates: list[Coordinate], most: int) -> JointRule | None:
    """Return strong coordinates together by directions and lengths; None where that is not few.

    Those that the label reads, and very strong ones, keep rules of their own; faint ones have a
    sign each that changes from node to node.
    """
    places = range(len(coordinates))
    faint = [j for j in places if coordinates[j].is_faint]
    strong = [j for j in places if coordinates[j].is_alike]
    sphere = _rays([coordinates[j] for j in strong])
    if sphere is None:
        strong, sphere = [], (np.zeros((1, 0)), np.ones(1))
    alone = [j for j in places if j not in faint and j not in strong]
    own = [coordinates[j] for j in alone]
    repeated = len(sphere[1]) * (2 if faint else 1)
    counts, coarse = _shrunk(own, most // repeated)
    if _size(own, counts) * repeated > most:
        return None
    rule = _crossed(_own_rules(own, counts), sphere)
    if faint:
        rule = with_signs(rule, len(faint))
    nodes, weights = _placed(rule, [*alone, *strong, *faint])
    bent = any(coordinates[j].strength > RAYS for j in strong)
    return _pruned(nodes, weights, coarse=coarse or bent)


def _rays(coordinates: list[Coordinate]) -> Rule | None:
    """Return the rule of coordinates of like strength, None for fewer than two."""
    if len(coordinates) < 2 or len(coordinates) > MOST_ON_RAYS:
        return None
    if any(c.cut is not None for c in coordinates):
        return ray_rule(len(coordinates), RAY_NODES)
    return degree_seven_rule(len(coordinates))


@functools.lru_cache(maxsize=256)
def _product(panels: tuple[Panels, ...]) -> JointRule:
    """Return the product of rules, which many points of a curve share."""
    rule = _pruned(*product_rule([panelled(own) for own in panels]), coarse=False)
    rule.nodes.flags.writeable = rule.weights.flags.writeable = False
    return rule


def _size(coordinates: list[Coordinate], counts: list[int]) -> int:
    """Return the nodes of a product of rules with so many nodes, on each side of a cut."""
    return prod(n if c.cut is None else 2 * n for n, c in zip(counts, coordinates, strict=True))


def _scattered(coordinates: list[Coordinate], most: int) -> JointRule:
    """Return points scattered over all coordinates, but a rule for the one that the label reads."""
    read = [j for j, c in enumerate(coordinates) if c.read]
    others = [j for j, c in enumerate(coordinates) if not c.read]
    own = _own_rules([coordinates[j] for j in read], [coordinates[j].fewest for j in read])
    points = scattered_rule(len(others), max(most, LEAST_SCATTERED) // len(own[1]))
    nodes, weights = _placed(_crossed(own, points), [*read, *others])
    return _pruned(nodes, weights, coarse=True)


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
