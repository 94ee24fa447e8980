"""Types of samples: a quadrature over the coordinates κ = Sᵀx of every component."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from onegrad.calculus.normal_rules import (
    Rule,
    half_range_rule,
    normal_rule,
    product_rule,
    scattered_rule,
    split_normal_rule,
    stroud_rule,
)
from onegrad.describe.arrays import Floats
from onegrad.theory.closed.frame import Frame, Part
from onegrad.theory.closed.label_law import LabelLaw

# Nodes of a coordinate by its strength: the deviation that it causes over that of the bulk.
NODES = ((0.06, 2), (0.12, 3), (0.4, 5), (0.75, 7), (1.0, 9), (np.inf, 13))
SIDED = ((0.15, 3), (0.5, 4), (1.2, 6), (np.inf, 8))  # on each side of a kink
DROPPED = 0.015  # strength of a sample's coordinate that does not matter
STRONG = 0.45  # from which features look kinked along a coordinate
READ, HARDLY_READ = 0.05, 1e-4  # shares of the label's variance along its own coordinate
WEAK, JUMP_NODES = 0.12, 8
SMALLEST_WEIGHT = 1e-7
MOST_NEURONS, MOST_SAMPLES = 700, 200  # nodes of a product before weak ones are taken together


@dataclass(frozen=True)
class SamplePoints:
    """Nodes κ (types × d) with weights p_s and the component of each."""

    points: Floats
    weights: Floats
    part: Floats  # index of the component
    level: Floats  # l_c of each
    scattered: bool = field(default=False)  # whether nodes are Sobol points

    def centres(self, frame: Frame) -> Floats:
        """Return the mean of ξᵀx given the type."""
        return self.points @ frame.reads

    def labels(self, frame: Frame) -> Floats:
        """Return the component's label, 0 where it has none."""
        own = np.array([part.label or 0.0 for part in frame.parts])
        return own[self.part]


def sample_points(frame: Frame, law: LabelLaw, load: Floats, bulk_variance: float) -> SamplePoints:
    """Return the types of samples; `load` is E[ℓℓᵀ] of neurons, `bulk_variance` their mean q²."""
    nodes, weights, owner, scattered = [], [], [], False
    centre = sum(
        (part.weight * np.outer(part.mean, part.mean) for part in frame.parts),
        np.zeros((frame.size, frame.size)),
    )
    for index, part in enumerate(frame.parts):
        x, w, many = _part_points(frame, part, law, load / (bulk_variance * part.level), centre)
        keep = w > SMALLEST_WEIGHT
        nodes.append(x[keep])
        weights.append(part.weight * w[keep] / w[keep].sum())
        owner.append(np.full(int(keep.sum()), index))
        scattered |= many
    owners = np.concatenate(owner)
    levels = np.array([part.level for part in frame.parts])[owners]
    return SamplePoints(np.concatenate(nodes), np.concatenate(weights), owners, levels, scattered)


def _part_points(
    frame: Frame, part: Part, law: LabelLaw, load: Floats, centre: Floats
) -> tuple[Floats, Floats, bool]:
    """Return nodes and weights of one component, and whether they are Sobol points."""
    if frame.size == 0:
        return np.zeros((1, 0)), np.ones(1), False
    values, vectors = np.linalg.eigh(part.covariance)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    strength = root @ load @ root
    axes, rules, strengths = [], [], []
    rest = np.eye(frame.size)
    seen = root @ frame.reads
    own = float(seen @ seen)
    share = own / max(own + frame.reads_off**2 * part.level, 1e-300)
    if not law.by_component and share > HARDLY_READ:
        axis = seen / np.sqrt(own)
        size = float(np.sqrt(max(axis @ strength @ axis, 0.0)))
        axes.append(axis)
        strengths.append(size)
        rules.append(_label_rule(law, size, share, (frame.reads @ part.mean) / np.sqrt(own)))
        rest = np.linalg.qr(np.column_stack([axis, np.eye(frame.size)]))[0][:, 1 : frame.size]
    first = len(axes)
    for axis, size, kept in _other_axes(rest, strength, root @ centre @ root):
        if size >= DROPPED or kept:
            axes.append(axis)
            strengths.append(size)
            rules.append(coordinate_rule(max(size, 0.07) if kept else size, kinked=size > STRONG))
    x, w, scattered = _joined(rules, strengths, first)
    place = np.array(axes).reshape(-1, frame.size)
    return part.mean + (x @ place) @ root, w, scattered


def _label_rule(law: LabelLaw, strength: float, share: float, offset: float) -> Rule:
    """Return the rule along what the label reads, split where its link has a kink."""
    if share <= READ:
        return coordinate_rule(max(strength, 0.1))
    count = next(nodes for limit, nodes in SIDED if strength < limit)
    if law.signs:
        count = max(count, JUMP_NODES)
    # The link is read in units of the coordinate's own deviation; one kink is met exactly.
    cut = -offset if 0.0 in law.kinks and abs(offset) > 1e-9 else 0.0
    return split_normal_rule(count, float(np.clip(cut, -4.0, 4.0)))


def coordinate_rule(strength: float, *, kinked: bool = False) -> Rule:
    """Return the rule of one coordinate, finer the more it does to the features."""
    if kinked:
        return half_range_rule(next(nodes for limit, nodes in SIDED if strength < limit))
    return normal_rule(next(nodes for limit, nodes in NODES if strength < limit))


def _other_axes(rest: Floats, strength: Floats, centre: Floats) -> list[tuple[Floats, float, bool]]:
    """Return the remaining axes by strength, and whether class means lie along them."""
    if rest.shape[1] == 0:
        return []
    spread = rest.T @ centre @ rest
    total = float(np.trace(spread))
    means = total > 1e-12
    inner = rest.T @ strength @ rest
    _, vectors = np.linalg.eigh(inner + (spread * (1e-3 / total) if means else 0.0))
    axes = []
    for axis in vectors.T[::-1]:
        along = means and float(axis @ spread @ axis) > 1e-3 * total
        axes.append((rest @ axis, float(np.sqrt(max(axis @ inner @ axis, 0.0))), along))
    return axes


def _joined(rules: list[Rule], strengths: list[float], first: int) -> tuple[Floats, Floats, bool]:
    """Return the product of the label's rule and of all others, which may be taken together."""
    lead = product_rule(rules[:first])
    room = max(16, MOST_SAMPLES // len(lead[1]))
    others, weights, scattered = together(rules[first:], strengths[first:], room)
    x = np.column_stack(
        [np.repeat(lead[0], len(weights), axis=0), np.tile(others, (len(lead[1]), 1))]
    )
    return x, np.outer(lead[1], weights).ravel(), scattered


def together(rules: list[Rule], strengths: list[float], most: int) -> tuple[Floats, Floats, bool]:
    """Return the product of rules; where it has too many nodes, a rule of all, and that it is."""
    count = int(np.prod([len(weights) for _, weights in rules], dtype=float))
    if count <= most or len(rules) < 3:
        return *product_rule(rules), False
    weak = [j for j, size in enumerate(strengths) if size < WEAK]
    strong = [j for j in range(len(rules)) if j not in weak]
    if len(weak) >= 3:
        xw, ww = stroud_rule(len(weak))
        xs, ws = product_rule([rules[j] for j in strong])
        if len(ws) * len(ww) <= 4 * most:
            nodes = np.zeros((len(ws) * len(ww), len(rules)))
            nodes[:, strong] = np.repeat(xs, len(ww), axis=0)
            nodes[:, weak] = np.tile(xw, (len(ws), 1))
            return nodes, np.outer(ws, ww).ravel(), False
    return *scattered_rule(len(rules), most), True
