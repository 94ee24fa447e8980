"""Types of samples: a quadrature over the coordinates κ = Sᵀx of every component."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from onegrad.calculus.normal_rules import Rule, split_normal_rule
from onegrad.describe.arrays import Floats, Ints
from onegrad.theory.closed.frame import Frame, Part
from onegrad.theory.closed.label_law import LabelLaw
from onegrad.theory.closed.type_coordinates import Coordinate
from onegrad.theory.closed.type_rules import joint_rule

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
