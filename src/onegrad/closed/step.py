"""Types of neurons before and after the gradient step.

The law of the step is where it moves the neurons in S, and what noise it leaves off S. v̂ is the
step's direction off the spikes and means, a mixture of the teacher's ξ̂ and of sampling noise ν̂; e
completes the plane of both. Before the step a neuron's type is its row's part s in S, and
ς_q = E[σ^{(q)}(s·κ + √(l N) fr z)] is what it sees of a sample at κ in the step's batch.
docs/closed.md derives the law; docs/notation.md explains every symbol.

Off S the step's noise lies in the span of its batch, not everywhere, so directions have groups. Two
matrices of the batch decide it, B = (1/m̃) Σ r² z zᵀ and A = (1/m̃) Σ r z zᵀ over bulk parts z.
Their free cumulants are φ^{p−1} E r^{2p} and φ^{p−1} E r^p, φ = N/m̃. Gauss's rule of B's spectrum
gives the groups; A follows B as far as they are correlated.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from onegrad.calculus.expectations import slope_of, smoothed_derivatives, smoothed_square
from onegrad.calculus.quadrature import Rule, normal_rule, product_rule
from onegrad.closed.label_law import LabelMoments
from onegrad.closed.nodes import (
    SMALLEST_WEIGHT,
    Coordinate,
    SamplePoints,
    joint_rule,
    sample_points,
)
from onegrad.closed.setting import ClosedSetting, Frame
from onegrad.describe.numbers import Floats, Ints

SMALLEST_PULL = 1e-300


@dataclass(frozen=True)
class StepLaw:
    """What one step does, per unit of om = (η/k)ω.

    In S, which is now (spikes and means, v̂, e): ℓ = om·pull + W(om)x + om·bend, x ~ N(0, I), with
    WWᵀ = fr²(I + om·slope)(I + om·slope)ᵀ + om²·noise. Off S: q² = c²N fr² + om²·bulk_noise with
    c = 1 + om(scale + scale_along·x_v·fr).
    """

    pull: Floats  # g_0, d + 2
    slope: Floats  # M
    noise: Floats  # Σ_n
    bend: Floats  # G(s) − G_0 − Js, initial types × spikes and means
    scale: Floats  # per initial type
    scale_along: float
    bulk_noise: Floats  # V_t, per initial type
    cosine: float  # of v̂ with ξ̂
    second: float  # l·ς̄_2 averaged over samples


def step_law(setting: ClosedSetting, types: InitialTypes, features: InitialFeatures) -> StepLaw:
    """Return the law of the step."""
    samples, y, r2 = features.samples, features.label, features.square
    p, level, kappa = samples.weights, samples.level, samples.points
    b1, b2 = features.mean_first, features.mean_second
    ratio = setting.frame.bulk / setting.step_samples  # φ
    population = (features.first * (p * y(1))[:, None]).T @ kappa  # G(s), types × d
    mean = types.weights @ population  # G_0
    spread = p @ ((r2 * b1**2)[:, None] * kappa**2) - mean**2
    rms = np.sqrt(mean**2 + np.maximum(spread, 0.0) / setting.step_samples)
    teacher = float(p @ (y(1, 1) * np.sqrt(level) * b1))  # A_ξ
    sampling = float(np.sqrt(ratio * (p @ (r2 * level * b1**2))))  # A_ν
    length = float(np.hypot(teacher, sampling))
    cosine = teacher / length if length > 0 else 0.0
    tilt = ratio * level * b1 / max(sampling, SMALLEST_PULL)
    slope, second, first = _plane(features, cosine, tilt)
    along = _linear(features, (cosine, np.sqrt(max(1 - cosine**2, 0.0))), tilt, 1)  # E[r x_v | s]
    linear = (population * types.weights[:, None]).T @ types.places / setting.entry  # J
    slope[: len(mean), : len(mean)] = linear
    power = float(p @ (level * b1**2 * r2))
    lost = np.outer(first, first) / power if power > 0 else 0.0
    noise = second / setting.step_samples - setting.row_variance * ratio * lost
    base = float(p @ (r2 * level * b1**2))
    return StepLaw(
        np.concatenate([np.where(mean < 0, -rms, rms), [length, 0.0]]),
        slope,
        noise,
        population - mean - setting.entry * types.places @ linear.T,
        (p * y(1) * level) @ features.second,
        float(p @ (level * features.mean_third * along)),
        np.maximum(ratio * ((p * r2 * level) @ features.slope_square - base), 0.0),
        cosine,
        float(p @ (level * b2)),
    )


def _plane(features: InitialFeatures, cosine: float, tilt: Floats) -> tuple[Floats, Floats, Floats]:
    """Return M, Σ p(Eσ'² − ς̄_1²)E[r² x xᵀ] and Σ p l ς̄_1ς̄_2 E[r² x] in S, v̂ and e included.

    ν̂ᵀx = r·tilt + noise within the batch, tilt = φ l ς̄_1/A_ν; x_v = cos √l z + sin ν̂ᵀx and
    x_e = sin √l z − cos ν̂ᵀx.
    """
    samples = features.samples
    p, level, kappa = samples.weights, samples.level, samples.points
    b1, b2 = features.mean_first, features.mean_second
    d = kappa.shape[1]
    sine = np.sqrt(max(1 - cosine**2, 0.0))
    places = ((cosine, sine), (sine, -cosine))  # of v̂ and e along ξ̂ and ν̂
    uneven = p * (features.mean_slope_square - b1**2)
    slope, second = np.zeros((d + 2, d + 2)), np.zeros((d + 2, d + 2))
    first = np.zeros(d + 2)
    second[:d, :d] = (kappa * (uneven * features.square)[:, None]).T @ kappa
    first[:d] = (p * level * b1 * b2 * features.square) @ kappa
    for i, own in enumerate(places):
        once = _linear(features, own, tilt, 1)
        twice = _linear(features, own, tilt, 2)
        slope[:d, d + i] = slope[d + i, :d] = (p * b2 * once) @ kappa
        second[:d, d + i] = second[d + i, :d] = (uneven * twice) @ kappa
        first[d + i] = p @ (level * b1 * b2 * twice)
        for j, other in enumerate(places[: i + 1]):
            once_each = p @ (b2 * _quadratic(features, own, other, tilt, 1))
            twice_each = uneven @ _quadratic(features, own, other, tilt, 2)
            slope[d + i, d + j] = slope[d + j, d + i] = once_each
            second[d + i, d + j] = second[d + j, d + i] = twice_each
    return slope, second, first


def _linear(
    features: InitialFeatures, own: tuple[float, float], tilt: Floats, power: int
) -> Floats:
    """Return E[r^power x | s] along a direction with these parts along ξ̂ and ν̂."""
    y, root = features.label, np.sqrt(features.samples.level)
    return own[0] * root * y(power, 1) + own[1] * tilt * y(power + 1)


def _quadratic(
    features: InitialFeatures,
    own: tuple[float, float],
    other: tuple[float, float],
    tilt: Floats,
    power: int,
) -> Floats:
    """Return E[r^power x x' | s] along two directions of the plane."""
    y, level = features.label, features.samples.level
    crossed = own[0] * other[1] + own[1] * other[0]
    return (
        own[0] * other[0] * level * y(power, 2)
        + crossed * np.sqrt(level) * tilt * y(power + 1, 1)
        + own[1] * other[1] * (tilt**2 * y(power + 2) + level * y(power))
    )


KEPT = 64  # features that serve other step sizes and widths, of some hundred kilobytes each


@dataclass(frozen=True)
class InitialTypes:
    """Parts s (types × d) of rows of F in S, in units of an entry's deviation, and weights."""

    places: Floats
    weights: Floats
    coarse: bool
    fewer: bool  # whether more nodes were wanted


def spike_coordinates(setting: ClosedSetting) -> list[Coordinate]:
    """Return the coordinates s_γ of an initial row, stronger where inputs spread more."""
    frame = setting.frame
    bulk = np.sqrt(frame.bulk * frame.level)
    return [
        Coordinate(
            float(np.sqrt(max(part.covariance[j, j] + part.mean[j] ** 2 for part in frame.parts)))
            / bulk
        )
        for j in range(frame.size)
    ]


def initial_types(setting: ClosedSetting, most: int) -> InitialTypes:
    """Return s/fr ~ N(0, I) on a grid of about `most` nodes at the most."""
    coordinates = spike_coordinates(setting)
    rule = joint_rule(coordinates, most)
    fewer = float(np.prod([float(c.total) for c in coordinates])) > most
    return InitialTypes(rule.nodes, rule.weights, rule.coarse, fewer)


@dataclass(frozen=True)
class InitialFeatures:
    """ς_1, ς_2, ς_3, E σ'² over samples × neurons, and means over neurons."""

    samples: SamplePoints
    label: LabelMoments  # of the residual r of the step
    square: Floats  # E[r² | s]
    residuals: tuple[Floats, Floats]  # values of r and their weights, for the batch's spectrum
    first: Floats  # ς_1
    second: Floats  # ς_2
    slope_square: Floats  # E σ'²
    mean_first: Floats  # ς̄_1, over neurons
    mean_second: Floats
    mean_third: Floats
    mean_slope_square: Floats


def initial_features(setting: ClosedSetting, types: InitialTypes) -> InitialFeatures:
    """Return what the step averages over its batch.

    The residual is r = y − ŷ. Where the second layer has random signs, ŷ adds E σ²/k to E r²; where
    it is constant, ŷ is the mean feature E_t σ, and r is y less it.
    """
    features = _features(_Batch(setting, types))
    if setting.second_layer == "constant":
        return features
    return replace(features, square=features.label(2) + features.square / setting.neurons)


@dataclass(frozen=True, eq=False)
class _Batch:
    """What the features depend on: neither the step's size nor the number of neurons."""

    setting: ClosedSetting
    types: InitialTypes

    @cached_property
    def key(self) -> tuple[object, ...]:
        """All of it as something to compare."""
        setting, types = self.setting, self.types
        numbers = setting.row_variance, setting.most_samples, setting.second_layer == "constant"
        arrays = types.places.tobytes(), types.weights.tobytes()
        return setting.frame.key, setting.law, setting.activation, *numbers, *arrays

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Batch) and self.key == other.key


@functools.lru_cache(maxsize=KEPT)
def _features(batch: _Batch) -> InitialFeatures:
    """Return the features; `square` is E σ² averaged over neurons, but E r² of constant layers."""
    setting, types = batch.setting, batch.types
    frame, law, sigma = setting.frame, setting.law, setting.activation
    n, entry = frame.bulk, setting.entry
    samples = sample_points(
        frame,
        law,
        setting.row_variance * np.eye(frame.size),
        n * setting.row_variance,
        setting.most_samples,
    )
    means = samples.points @ (entry * types.places).T
    deviations = np.sqrt(samples.level * n)[:, None] * entry
    smooth = smoothed_derivatives(sigma, means, deviations, 3)
    where = (
        samples.centres(frame),
        frame.reads_off * np.sqrt(samples.level),
        samples.labels(frame),
    )
    label = law.moments(*where)
    values, shares = law.outcomes(*where)
    weights = types.weights
    if setting.second_layer == "constant":
        mean = smooth[0] @ weights
        label, values = label.less(mean), values - mean[:, None]
        square = label(2)
    else:
        square = smoothed_square(sigma, means, deviations) @ weights
    slope_square = smoothed_square(slope_of(sigma), means, deviations)
    return InitialFeatures(
        samples,
        label,
        square,
        (values, samples.weights[:, None] * shares),
        smooth[1],
        smooth[2],
        slope_square,
        smooth[1] @ weights,
        smooth[2] @ weights,
        smooth[3] @ weights,
        slope_square @ weights,
    )


GROUPS, DRAFT_GROUPS = 4, 2


@dataclass(frozen=True)
class BulkGroups:
    """Shares ν_j of the directions, eigenvalues e_j of B/E r² and centred ones a_j of A."""

    shares: Floats
    noise: Floats
    slope: Floats

    @classmethod
    def one(cls) -> BulkGroups:
        """Return a single group of all directions."""
        return cls(np.ones(1), np.ones(1), np.zeros(1))


def bulk_groups(
    residuals: tuple[Floats, Floats], variance: float, ratio: float, *, count: int = GROUPS
) -> BulkGroups:
    """Return the groups for residuals r (values, weights) with `variance` of noise beside."""
    r, w = residuals[0].ravel(), residuals[1].ravel()
    w = w / w.sum()
    square = r**2 + variance
    power = float(w @ square)
    if power <= 0:
        return BulkGroups.one()
    d = square / power
    cumulants = [ratio ** (p - 1) * float(w @ d**p) for p in range(1, 2 * count)]
    nodes, shares = gauss_from_moments(free_moments(cumulants))
    third, fourth = float(w @ (r * square)), float(w @ square**2)
    coupling = third / fourth * power if fourth > 0 else 0.0
    return BulkGroups(shares, nodes, coupling * (nodes - 1))


def free_moments(cumulants: list[float]) -> Floats:
    """Return moments 0, 1, … of the law with these free cumulants: M(x) = 1 + Σ κ_s (xM(x))^s."""
    order = len(cumulants)
    moments = np.zeros(order + 1)
    moments[0] = 1.0
    for _ in range(order):  # each round makes one more moment right
        following = np.zeros(order + 1)
        following[0] = 1.0
        power = np.zeros(order + 1)
        power[0] = 1.0
        shifted = np.concatenate([[0.0], moments[:-1]])
        for cumulant in cumulants:
            power = np.convolve(power, shifted)[: order + 1]
            following += cumulant * power
        moments = following
    return moments


def gauss_from_moments(moments: Floats) -> tuple[Floats, Floats]:
    """Return nodes and weights of Gauss's rule of a law on [0, ∞) by Chebyshev's algorithm."""
    count = len(moments) // 2
    alpha, beta = np.zeros(count), np.zeros(count)
    alpha[0] = moments[1] / moments[0]
    previous, current = np.zeros(2 * count), moments[: 2 * count].astype(float)
    for k in range(1, count):
        following = np.zeros(2 * count)
        for j in range(k, 2 * count - k):
            following[j] = current[j + 1] - alpha[k - 1] * current[j] - beta[k - 1] * previous[j]
        if following[k] <= 1e-10 * current[k - 1] * moments[1] ** 2:
            count = k  # the law has no more points than these
            break
        alpha[k] = following[k + 1] / following[k] - current[k] / current[k - 1]
        beta[k] = following[k] / current[k - 1]
        previous, current = current, following
    jacobi = np.diag(alpha[:count])
    off = np.sqrt(beta[1:count])
    jacobi += np.diag(off, 1) + np.diag(off, -1)
    nodes, vectors = np.linalg.eigh(jacobi)
    return np.maximum(nodes, 0.0), vectors[0] ** 2


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
