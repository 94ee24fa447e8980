"""Types of neurons after the step: their parts in S, their lengths off it, and a bulk profile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onegrad.calculus.normal_rules import Rule, normal_rule, product_rule
from onegrad.describe.arrays import Floats, Ints
from onegrad.theory.closed.bulk_groups import (
    DRAFT_GROUPS,
    GROUPS,
    BulkGroups,
    bulk_groups,
)
from onegrad.theory.closed.frame import Frame
from onegrad.theory.closed.initial_types import (
    InitialTypes,
    initial_features,
    initial_types,
)
from onegrad.theory.closed.setting import ClosedSetting
from onegrad.theory.closed.step_law import StepLaw, step_law
from onegrad.theory.closed.type_coordinates import Coordinate
from onegrad.theory.closed.type_rules import SMALLEST_WEIGHT

NOISY = 0.02  # step noise from which bulk directions differ, and e is no ordinary one
SEEN = 0.003  # strength from which the step's direction is kept
STRONG_STEP, STRONG_NODES = 0.4, 6
PLANE_NODES = 2  # of x_v and x_e
FEW_INITIAL = 150  # types before the step, unless its own nodes leave room for more
DRAFT_NODES = 3  # of ω on each side, in drafts


@dataclass(frozen=True)
class NeuronTypes:
    """Weights π_t, parts ℓ (types × d) in S, lengths q off it, and the bulk's groups ν_j, ϱ_j."""

    frame: Frame  # S after the step
    weights: Floats
    loads: Floats
    lengths: Floats
    groups: Floats  # ν_j
    profile: Floats  # ϱ_j, groups × types
    step_noise: float = 0.0  # noise of the step over the initial length, squared
    cosine: float = 0.0
    coarse: bool = False

    @property
    def load(self) -> Floats:
        """E[ℓℓᵀ]."""
        return (self.loads * self.weights[:, None]).T @ self.loads

    @property
    def bulk_variance(self) -> float:
        """E q²."""
        return float(self.weights @ self.lengths**2)


def untrained(setting: ClosedSetting) -> NeuronTypes:
    """Return the types before the step."""
    types = initial_types(setting, setting.most_neurons)
    count = len(types.weights)
    length = np.sqrt(setting.frame.bulk) * setting.entry
    return NeuronTypes(
        setting.frame,
        types.weights,
        setting.entry * types.places,
        np.full(count, length),
        np.ones(1),
        np.ones((1, count)),
        coarse=types.coarse,
    )


def trained(setting: ClosedSetting) -> NeuronTypes:
    """Return the types after the step; those before it where it does nothing."""
    if setting.learning_rate == 0:
        return untrained(setting)
    types = initial_types(setting, min(FEW_INITIAL, setting.most_neurons // 4))
    features = initial_features(setting, types)
    law = step_law(setting, types, features)
    others = _others(setting, types, law)
    room = setting.most_neurons // int(np.prod([len(weights) for _, weights in others]))
    if room > len(types.weights) and types.fewer:  # the step's own nodes leave room for more
        types = initial_types(setting, room)
        features = initial_features(setting, types)
        law = step_law(setting, types, features)
    noise = _step_noise(setting, types, law)
    kept = _kept_directions(setting, law, noise)
    rows = _rows(setting, types, others)
    frame = _extended(setting.frame, law, kept)
    groups = BulkGroups.one()
    if noise > NOISY:
        ratio = frame.bulk / setting.step_samples
        variance = 0.0 if setting.law.signs else setting.law.noise**2
        count = DRAFT_GROUPS if setting.draft else GROUPS
        groups = bulk_groups(features.residuals, variance, ratio, count=count)
    lengths, profile = _bulk(setting, frame, law, rows, groups)
    return NeuronTypes(
        frame,
        rows.weights,
        _loads(setting, law, rows, kept),
        lengths,
        groups.shares,
        profile,
        noise,
        law.cosine,
        types.coarse or features.samples.coarse,
    )


@dataclass(frozen=True)
class _Rows:
    """Nodes of (initial type, x_v, x_e, ω)."""

    initial: Ints  # index of the initial type
    plane: Floats  # x_v, x_e
    om: Floats  # (η/k)ω
    weights: Floats
    base: Floats  # x of the initial type


def _step_noise(setting: ClosedSetting, types: InitialTypes, law: StepLaw) -> float:
    """Return the squared length of the step's noise over that of the initial rows."""
    length2 = setting.frame.bulk * setting.row_variance
    return setting.step**2 * float(types.weights @ law.bulk_noise) / length2


def _step_strength(setting: ClosedSetting, law: StepLaw) -> float:
    """Return the deviation that the step's mean pull causes, over the bulk's."""
    frame = setting.frame
    d = frame.size
    own = [
        law.pull[:d] @ part.covariance @ law.pull[:d] + part.level * law.pull[d] ** 2
        for part in frame.parts
    ]
    return setting.step * float(
        np.sqrt(max(own) / (frame.bulk * setting.row_variance * frame.level))
    )


def _kept_directions(setting: ClosedSetting, law: StepLaw, noise: float) -> int:
    """Return how many of v̂ and e join S."""
    frame = setting.frame
    seen = setting.step * law.pull[frame.size] / (np.sqrt(frame.bulk) * setting.entry)
    if noise > NOISY and frame.reads_off > 0:
        return 2
    return 1 if seen > SEEN else 0


def _extended(frame: Frame, law: StepLaw, kept: int) -> Frame:
    """Return S with the step's direction, and with e where it is kept."""
    off = frame.reads_off
    sine = float(np.sqrt(max(1 - law.cosine**2, 0.0)))
    if kept >= 1:
        frame = frame.with_direction(off * law.cosine, off * sine)
    if kept == 2:
        frame = frame.with_direction(off * sine, 0.0)
    return frame


def _others(setting: ClosedSetting, types: InitialTypes, law: StepLaw) -> list[Rule]:
    """Return the rules of x_v, x_e and ω."""
    kept = _kept_directions(setting, law, _step_noise(setting, types, law))
    one: Rule = (np.zeros(1), np.ones(1))
    plane = [normal_rule(PLANE_NODES) if kept > i else one for i in range(2)]
    return [*plane, _second_layer(setting, _step_strength(setting, law))]


def _rows(setting: ClosedSetting, types: InitialTypes, others: list[Rule]) -> _Rows:
    """Return the nodes of all that decides a neuron."""
    index: Rule = (np.arange(len(types.weights), dtype=float), types.weights)
    nodes, weights = product_rule([index, *others])
    keep = weights > SMALLEST_WEIGHT
    initial = nodes[keep, 0].astype(int)
    return _Rows(
        initial,
        nodes[keep, 1:3],
        setting.step * nodes[keep, 3],
        weights[keep] / weights[keep].sum(),
        types.places[initial],
    )


def _second_layer(setting: ClosedSetting, strength: float) -> Rule:
    """Return the rule of ω = √k w: strong steps bend features at ω = 0."""
    if setting.second_layer == "sign":
        return np.array([-1.0, 1.0]), np.array([0.5, 0.5])
    if setting.second_layer == "constant":
        return np.ones(1), np.ones(1)
    strong = strength > STRONG_STEP
    coordinate = Coordinate(max(strength, 0.07), 0.0 if strong else None)
    nodes = DRAFT_NODES if setting.draft else STRONG_NODES
    return coordinate.rule(nodes if strong else coordinate.count)


def _loads(setting: ClosedSetting, law: StepLaw, rows: _Rows, kept: int) -> Floats:
    """Return ℓ = om·g_0 + W(om)x + om·bend in S."""
    d = setting.frame.size
    size = d + kept
    slope, noise = law.slope[:size, :size], law.noise[:size, :size]
    x = np.column_stack([rows.base, rows.plane[:, :kept]])
    loads = rows.om[:, None] * law.pull[:size]
    loads[:, :d] += rows.om[:, None] * law.bend[rows.initial]
    values, own = np.unique(rows.om, return_inverse=True)
    linear = np.eye(size) + values[:, None, None] * slope
    total = setting.row_variance * linear @ linear.transpose(0, 2, 1)
    total += (values**2)[:, None, None] * noise
    eigen, vectors = np.linalg.eigh(total)
    root = (vectors * np.sqrt(np.maximum(eigen, 0.0))[:, None, :]) @ vectors.transpose(0, 2, 1)
    left, _, right = np.linalg.svd(root @ linear)
    spread = root @ (left @ right)  # equals fr·linear where the step has no noise
    return loads + np.einsum("tij,tj->ti", spread[own], x)


def _bulk(
    setting: ClosedSetting,
    frame: Frame,
    law: StepLaw,
    rows: _Rows,
    groups: BulkGroups,
) -> tuple[Floats, Floats]:
    """Return the lengths off S, and how they spread over the groups of directions."""
    initial = frame.bulk * setting.row_variance  # N fr²
    scale = 1 + rows.om * (
        law.scale[rows.initial] + law.scale_along * setting.entry * rows.plane[:, 0]
    )
    noise = law.bulk_noise[rows.initial]
    lengths = np.sqrt(scale**2 * initial + rows.om**2 * noise)
    linear = law.second**2 * float(groups.shares @ groups.slope**2)
    own = np.maximum(noise - initial * linear, 0.0)
    profile = initial * (scale + rows.om * law.second * groups.slope[:, None]) ** 2
    profile = profile + rows.om**2 * own * groups.noise[:, None]
    return lengths, profile / (groups.shares @ profile)
