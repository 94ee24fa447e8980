"""The nodes of the closed theory: which points represent coordinates of samples or of neurons.

The strength of a coordinate is the deviation that it causes in pre-activations over that of the
bulk: the stronger it is, the more nodes it needs. Several coordinates have a product of rules.
Where that has too many nodes, weak coordinates share a rule of several and strong ones get fewer
nodes; where those are too few, strong ones share a rule of directions and lengths; where that has
too many still, points are scattered over all of them.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from itertools import pairwise
from math import log, prod

import numpy as np

from onegrad.calculus.quadrature import (
    Rule,
    cross_rule,
    degree_seven_rule,
    normal_rule,
    panel_rule,
    product_rule,
    ray_rule,
    scattered_rule,
    split_normal_rule,
    stroud_rule,
    with_signs,
)
from onegrad.closed.label_law import LabelLaw
from onegrad.closed.setting import Frame, Part
from onegrad.describe.numbers import Floats, Ints

NODES = ((0.06, 2), (0.12, 3), (0.4, 5), (0.75, 7), (1.0, 9), (np.inf, 13))
SIDED = ((0.15, 3), (0.5, 4), (1.2, 6), (np.inf, 8))  # on each side of a cut
MODERATE = 0.35  # strength up to which two nodes are left where there is little room
GRADED, GRADED_REACH = 2.0, 1.5  # strength from which nodes are graded, and their reach times it
GRADED_RATIO = 1.15
SHARP, SHARP_REACH, SHARP_NODES = 10, (0.15, 0.8), 3  # about a change of sign, on each side
FAINT, ALIKE = 0.08, 1.5  # strengths up to which a sign is enough, and a rule of degree 7

Panels = tuple[tuple[float, ...], tuple[int, ...]]  # cuts, and nodes between them


@dataclass(frozen=True)
class Coordinate:
    """A standard normal coordinate; `cut` is where what depends on it has a kink, if it has."""

    strength: float
    cut: float | None = None
    least: int = 0  # nodes, where the strength would ask for fewer
    read: bool = False  # whether the label reads it
    sharp: bool = False  # whether labels change their sign at the cut
    wanted: int = 0  # nodes, where there is room

    @property
    def count(self) -> int:
        """Nodes, on each side where there is a cut."""
        table = NODES if self.cut is None else SIDED
        usual = next(nodes for limit, nodes in table if self.strength < limit)
        return max(self.least, self.wanted, usual, SHARP if self.sharp else 0)

    @property
    def is_faint(self) -> bool:
        """Whether a sign stands for it."""
        return not self.read and self.cut is None and self.least == 0 and self.strength < FAINT

    @property
    def is_alike(self) -> bool:
        """Whether it may share directions with others: neither faint nor very strong nor read."""
        return not self.read and not self.is_faint and self.strength < ALIKE

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
        return panelled(self.panels(count))

    def panels(self, count: int) -> Panels:
        """Return where the rule of so many nodes, on each side of a cut, is cut, and its nodes.

        A very strong coordinate bends features near its cut: part of the nodes lie there. So they
        do where labels change their sign: most wrong ones are close to it, the closer the fewer.
        """
        if self.cut is None:
            return (), (count,)
        if self.sharp and count >= SHARP:
            sides = (count - 2 * SHARP_NODES, SHARP_NODES, SHARP_NODES)
            above = tuple(self.cut + reach for reach in SHARP_REACH)
            below = tuple(self.cut - reach for reach in reversed(SHARP_REACH))
            return (*below, self.cut, *above), (*sides, *reversed(sides))
        if self.strength < GRADED:
            return (self.cut,), (count, count)
        near = max(1, 2 * count // 5)
        # Of few sizes, so that rules are made once.
        reach = GRADED_REACH / GRADED_RATIO ** round(log(self.strength, GRADED_RATIO))
        cuts = (self.cut - reach, self.cut, self.cut + reach)
        return cuts, (count - near, near, near, count - near)


def panelled(panels: Panels) -> Rule:
    """Return the rule with these cuts and nodes."""
    cuts, counts = panels
    if not cuts:
        return normal_rule(counts[0])
    if len(cuts) == 1:
        return split_normal_rule(counts[0], cuts[0])
    return panel_rule(cuts, counts)


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


EMPTY_RULE = JointRule(np.zeros((1, 0)), np.ones(1))


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
        weak, strong, inner = [], list(range(len(coordinates))), EMPTY_RULE
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


DROPPED = 0.015  # strength of a sample's coordinate that does not matter
STRONG = 0.45  # from which features look kinked along a coordinate
READ, HARDLY_READ = 0.05, 1e-4  # shares of the label's variance along its own coordinate
SHARPLY_READ, SIGN_NODES = 0.8, 6  # a share from which signs change within the coordinate; nodes
LABEL_NODES = (3, 4, 6, 8, 11, 15, 20)  # that are tried, on each side
FIRST_TRIED = 3  # of them
SEEN = 1e-4  # of the label: what one more node may still change
# On each side of a cut, for losses other than the square: they bend within a type's outputs, of
# which the square asks for mean and power alone.
LOSS_NODES = 16


@dataclass(frozen=True)
class SamplePoints:
    """Nodes κ (types × d) with weights p_s and the component of each."""

    points: Floats
    weights: Floats
    part: Ints  # index of the component
    level: Floats  # l_c of each
    coarse: bool = False  # whether there are fewer nodes than needed

    def centres(self, frame: Frame) -> Floats:
        """Return the mean of ξᵀx given the type."""
        return self.points @ frame.reads

    def labels(self, frame: Frame) -> Floats:
        """Return the component's label, 0 where it has none."""
        own = np.array([part.label or 0.0 for part in frame.parts])
        return own[self.part]


def sample_points(
    frame: Frame,
    law: LabelLaw,
    load: Floats,
    bulk_variance: float,
    most: int,
    *,
    wanted: int = 0,
) -> SamplePoints:
    """Return about `most` types of samples at the most.

    `load` is E[ℓℓᵀ] of neurons, `bulk_variance` their mean q². Where something bends, `wanted`
    nodes are taken on each side if there is room, and along what the label reads in any case.
    """
    means = sum(
        (part.weight * np.outer(part.mean, part.mean) for part in frame.parts),
        np.zeros((frame.size, frame.size)),
    )
    nodes, rules = [], []
    for part in frame.parts:
        strength = load / (bulk_variance * part.level)
        axes, coordinates, root = _axes(frame, part, law, strength, means)
        coordinates = [_with_nodes(coordinate, wanted) for coordinate in coordinates]
        room = 2 * most if any(c.sharp for c in coordinates) else most
        rule = joint_rule(coordinates, room // len(frame.parts))
        place = np.array(axes).reshape(len(axes), frame.size)
        nodes.append(part.mean + (rule.nodes @ place) @ root)
        rules.append(rule)
    owners = np.repeat(np.arange(len(rules)), [len(rule.weights) for rule in rules])
    weights = [part.weight * rule.weights for part, rule in zip(frame.parts, rules, strict=True)]
    levels = np.array([part.level for part in frame.parts])[owners]
    coarse = any(rule.coarse for rule in rules)
    return SamplePoints(np.concatenate(nodes), np.concatenate(weights), owners, levels, coarse)


def _with_nodes(coordinate: Coordinate, wanted: int) -> Coordinate:
    """Return the coordinate with so many nodes on each side of its cut, if it has one."""
    if coordinate.cut is None:
        return coordinate
    least = max(coordinate.least, wanted) if coordinate.read else coordinate.least
    return replace(coordinate, least=least, wanted=wanted)


def _axes(
    frame: Frame, part: Part, law: LabelLaw, load: Floats, means: Floats
) -> tuple[list[Floats], list[Coordinate], Floats]:
    """Return the standardised axes of one component, their coordinates, and Σ_c^{1/2} in S."""
    root = part.root
    strength = root @ load @ root
    axes, coordinates = [], []
    rest: Floats = np.eye(frame.size)
    seen = root @ frame.reads
    own = float(seen @ seen)
    share = own / max(own + frame.reads_off**2 * part.level, 1e-300)
    if not law.by_component and share > HARDLY_READ:
        axis = seen / np.sqrt(own)
        size = float(np.sqrt(max(axis @ strength @ axis, 0.0)))
        axes.append(axis)
        centre = float(frame.reads @ part.mean)
        coordinates.append(_label_coordinate(law, size, share, centre, own))
        rest = _complement(axis)
    for axis, size, kept in _other_axes(rest, strength, root @ means @ root):
        if size >= DROPPED or kept:
            axes.append(axis)
            size = max(size, 0.07) if kept else size
            coordinates.append(Coordinate(size, 0.0 if size > STRONG else None))
    return axes, coordinates, root


def _label_coordinate(
    law: LabelLaw, strength: float, share: float, centre: float, variance: float
) -> Coordinate:
    """Return the coordinate that the label reads, split where its link has a kink."""
    if share <= READ:
        return Coordinate(max(strength, 0.1), read=True)
    cut = 0.0
    if law.kinks or law.signs:  # one kink is met exactly, in units of the coordinate's deviation
        kink = law.kinks[0] if law.kinks else 0.0
        cut = float(np.clip((kink - centre) / np.sqrt(variance), -4.0, 4.0))
    rest = np.sqrt(variance * (1 / share - 1))  # deviation of what it reads off S
    least = _label_nodes(law, centre, float(np.sqrt(variance)), float(rest), cut)
    sharp = law.signs and share > SHARPLY_READ
    if law.signs and not sharp:
        least = max(least, SIGN_NODES)
    return Coordinate(strength, cut, least, read=True, sharp=sharp)


@functools.lru_cache(maxsize=256)
def _label_nodes(law: LabelLaw, centre: float, deviation: float, rest: float, cut: float) -> int:
    """Return how many nodes on each side see the label's mean, slope and power."""
    rules = [split_normal_rule(count, cut) for count in LABEL_NODES]
    # The first ones decide nearly always: they are asked together.
    for first, last in ((0, FIRST_TRIED), (FIRST_TRIED - 1, len(rules))):
        seen = _seen(law, centre, deviation, rest, rules[first:last])
        for place, (fewer, more) in enumerate(pairwise(seen), first):
            size = np.sqrt(more[2]) + 1e-300
            if np.all(np.abs(more - fewer) <= SEEN * np.array([size, size, size**2])):
                return LABEL_NODES[place]
    return LABEL_NODES[-1]


def _seen(
    law: LabelLaw, centre: float, deviation: float, rest: float, rules: list[Rule]
) -> list[Floats]:
    """Return mean, slope and power of the label as every rule sees them."""
    nodes = np.concatenate([own for own, _ in rules])
    means = law.means(centre + deviation * nodes, np.full_like(nodes, rest))
    ends = np.cumsum([len(own) for own, _ in rules])[:-1]
    return [
        np.array([weights @ mean, weights @ (mean * own), weights @ mean**2])
        for (own, weights), mean in zip(rules, np.split(means, ends), strict=True)
    ]


def _other_axes(rest: Floats, strength: Floats, means: Floats) -> list[tuple[Floats, float, bool]]:
    """Return the remaining axes by strength, and whether class means lie along them."""
    if rest.shape[1] == 0:
        return []
    spread = rest.T @ means @ rest
    total = float(np.trace(spread))
    apart = total > 1e-12
    inner = rest.T @ strength @ rest
    _, vectors = np.linalg.eigh(inner + (spread * (1e-3 / total) if apart else 0.0))
    vectors = vectors[:, ::-1]
    sizes = np.sqrt(np.maximum(np.sum(vectors * (inner @ vectors), axis=0), 0.0))
    along = np.sum(vectors * (spread @ vectors), axis=0) > 1e-3 * total
    places = (rest @ vectors).T
    return list(zip(places, sizes.tolist(), (along & apart).tolist(), strict=True))


def _complement(axis: Floats) -> Floats:
    """Return orthonormal columns that complete a unit vector, by Householder's reflection."""
    mirror = axis.copy()
    mirror[0] += np.copysign(1.0, axis[0])
    columns = np.outer(mirror, mirror[1:]) / -(1 + abs(axis[0]))
    columns[1:] += np.eye(len(axis) - 1)
    return columns
