"""Labels of types: expectations of a loss over a point's label and its output u.

Given its type t, a point's output is u ~ N(a_t, v_t). Its label is fixed by the type, or follows
from the teacher's projection s ~ N(s̄_t, σ_t²), whose covariance with u is r_t. With f(u, y) =
ℓ'(y, prox(u)) the equations need E f, E ∂f/∂u, E f² and h_t = (E[(s − s̄_t)f] − r_t E f_u)/σ_t²,
which is Stein's lemma without the derivative of a label that may jump.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from onegrad.calculus.expectations import split_rule
from onegrad.calculus.function import Function, gauss_legendre, normal_density
from onegrad.calculus.loss_expectations import (
    GaussianLosses,
    gaussian_losses,
    gaussian_response,
    output_rule,
)
from onegrad.calculus.losses import NamedLoss
from onegrad.describe.numbers import Floats

REACH = 8.0  # deviations
HALF_LINE_NODES = 48
# Between two kinks of the link, where one panel may hold the whole density: E z² to 5e−8. What has
# no weight in any type is left out.
PROJECTION_NODES, SMALLEST_WEIGHT = 40, 1e-11
NOISE_NODES = 7
# Of σ_t² left when u is known: beyond, u and s are the same to the equations.
SMALLEST_SHARE = 1e-3
NOTHING = 1e-6  # of the projection's deviation: it is known from the type


class LabelReader(Protocol):
    """What is asked of a teacher that reads one projection."""

    @property
    def link(self) -> Function | None:
        """The label as a function of the projection, where it is one."""

    def coefficients_at(self, means: Floats, deviations: Floats, order: int) -> Floats:
        """Return E[y H_l(z)]/√l! where the projection is means + deviations·z."""


@dataclass(frozen=True)
class TypeLabels:
    """Weights and components of types, and how their labels are made.

    `binary` says that labels are ±1 (but for additive noise); `centres` and `deviations` are s̄_t
    and σ_t, None where the label reads no projection.
    """

    weights: Floats  # p_t, T
    components: Floats  # c, T
    means: Floats  # ȳ_t = E[y | t], T
    variances: Floats  # Var(y | t), T
    binary: bool = False
    noise: float = 0.0
    centres: Floats | None = None
    deviations: Floats | None = None
    teacher: LabelReader | None = None

    @property
    def fixed(self) -> bool:
        """Whether a type's label is one number, but for noise."""
        own = self.variances - self.noise * self.noise
        return bool(np.all(own <= 1e-12 * (1 + self.means**2)))

    @property
    def one_projection(self) -> bool:
        """Whether labels are fixed or follow from one projection, as convex losses need."""
        return self.fixed or self.centres is not None or self.binary


class Responses(NamedTuple):
    """E f, E f_u, E f² and h of every type."""

    mean: Floats
    slope: Floats
    square: Floats
    pull: Floats


@dataclass(frozen=True)
class Outputs:
    """The law of every type's output: a, v, γ, and r, its covariance with the projection."""

    mean: Floats
    variance: Floats
    reach: Floats
    projection: Floats


def responses(labels: TypeLabels, loss: NamedLoss, outputs: Outputs) -> Responses:
    """Return what the equations need of a loss."""
    if labels.fixed:
        how = _fixed(labels, outputs)
        f = gaussian_response(loss, labels.means, outputs.mean, **how)
        return Responses(*f, np.zeros_like(f.mean))
    if labels.binary:
        return _binary_responses(labels, loss, outputs)
    return _node_responses(labels, loss, outputs)


def losses(labels: TypeLabels, loss: NamedLoss, outputs: Outputs) -> GaussianLosses:
    """Return loss, squared error and misclassification of u (test) and of prox(u) (train)."""
    if labels.fixed:
        plain = gaussian_losses(loss, labels.means, outputs.mean, **_fixed(labels, outputs))
        if not (labels.binary and labels.noise):
            return plain
        test, train = misclassified(labels, loss, outputs)  # against the class, not its noise
        return plain._replace(test_misclassification=test, train_misclassification=train)
    if labels.binary:
        return _binary_losses(labels, loss, outputs)
    return _node_losses(labels, loss, outputs)


def misclassified(labels: TypeLabels, loss: NamedLoss, outputs: Outputs) -> tuple[Floats, Floats]:
    """Return P(yu < 0) and P(y prox(u) < 0) of every type, for labels ±1."""
    test, train = np.zeros(len(labels.weights)), np.zeros(len(labels.weights))
    posterior = _Posterior(labels, outputs)
    nodes, shares = np.polynomial.hermite_e.hermegauss(NOISE_NODES if labels.noise else 1)

    def wrong(cut: Floats, y: float) -> Floats:
        u, weights = _half_line(outputs, cut, y)
        return np.sum(weights * posterior.of(u, y)[0], axis=1)

    for y in (1.0, -1.0):
        test += wrong(np.zeros_like(outputs.mean), y)
        for noise, share in zip(labels.noise * nodes, shares / shares.sum(), strict=True):
            # prox(u) < 0 where u < γℓ'(y, 0); on the wrong side of 0, where ℓ' jumps.
            train += share * wrong(outputs.reach * loss.derivative(y + noise, -y * 1e-300), y)
    return test, train


def correlation(labels: TypeLabels, outputs: Outputs) -> float:
    """Return the largest r_t²/(σ_t²v_t); types that share a covariance hold up to about .9."""
    if labels.centres is None or labels.deviations is None:
        return 0.0
    power = labels.deviations**2 * outputs.variance
    known = labels.deviations <= NOTHING * np.max(labels.deviations, initial=0.0)
    ratio = np.where(known, 0.0, outputs.projection**2 / np.where(known, 1.0, power))
    return float(np.max(ratio, initial=0.0))


def _fixed(labels: TypeLabels, outputs: Outputs) -> dict[str, Floats]:
    """Return the law of u − noise: only losses of y − u are asked for where there is noise."""
    return {"variance": outputs.variance + labels.noise**2, "gamma": outputs.reach}


class _Posterior:
    """The label given u: its probability, and what it tells of s, for nodes that may repeat."""

    def __init__(self, labels: TypeLabels, outputs: Outputs) -> None:
        self.labels, self.outputs = labels, outputs
        self._nodes: Floats | None = None

    def of(self, u: Floats, y: float) -> tuple[Floats, Floats]:
        """Return P(label = y | u) and E[(s − s̄)1(label = y) | u] for outputs u (T × nodes)."""
        labels = self.labels
        if labels.centres is None or labels.deviations is None or labels.teacher is None:
            rate = 0.5 * (1 + y * labels.means)
            return np.broadcast_to(rate[:, None], u.shape), np.zeros_like(u)
        if self._nodes is None or not np.array_equal(u, self._nodes):
            self._nodes = u
            self._expected, self._moved, self._turned = self._given(u)
        rate = 0.5 * (1 + y * self._expected)
        return rate, self._moved * rate + 0.5 * y * self._turned

    def _given(self, u: Floats) -> tuple[Floats, Floats, Floats]:
        """Return E[y | u], E[s | u] − s̄ and E[(s − E[s | u])y | u]."""
        labels, outputs = self.labels, self.outputs
        assert labels.centres is not None
        assert labels.deviations is not None
        assert labels.teacher is not None
        r, variance, sigma = outputs.projection, outputs.variance, np.square(labels.deviations)
        moved = (r / variance)[:, None] * (u - outputs.mean[:, None])
        left = np.maximum(sigma - r**2 / variance, SMALLEST_SHARE * sigma)
        deviation = np.broadcast_to(np.sqrt(left)[:, None], u.shape)
        centre = labels.centres[:, None] + moved
        expected, first = labels.teacher.coefficients_at(centre.ravel(), deviation.ravel(), 1)
        return expected.reshape(u.shape), moved, deviation * first.reshape(u.shape)


def _turning(labels: TypeLabels, outputs: Outputs) -> float:
    """Return over which length in u a label's probability turns."""
    if labels.centres is None or labels.deviations is None:
        return np.inf
    sigma, r, v = labels.deviations**2, np.abs(outputs.projection), outputs.variance
    left = np.sqrt(np.maximum(sigma - r**2 / v, SMALLEST_SHARE * sigma))
    turn = np.where(r > 0, left * v / np.where(r > 0, r, 1.0), np.inf)
    return float(np.min(turn / np.sqrt(v), initial=np.inf) * np.sqrt(np.max(v)))


def _binary_responses(labels: TypeLabels, loss: NamedLoss, outputs: Outputs) -> Responses:
    sums = np.zeros((4, len(labels.weights)))
    gamma, turning = outputs.reach[:, None], _turning(labels, outputs)
    posterior = _Posterior(labels, outputs)
    for y in (1.0, -1.0):
        target = np.full(len(labels.weights), y)
        u, weights = output_rule(
            loss,
            target,
            outputs.mean,
            variance=outputs.variance,
            gamma=outputs.reach,
            turning=turning,
        )
        f, slope = loss.response(y, u, gamma)
        rate, moment = posterior.of(u, y)
        for row, values in enumerate((f * rate, slope * rate, f * f * rate, f * moment)):
            sums[row] += np.sum(weights * values, axis=1)
    mean, slope, square, product = sums
    return Responses(mean, slope, square, _stein(labels, outputs, product, slope))


def _stein(labels: TypeLabels, outputs: Outputs, product: Floats, slope: Floats) -> Floats:
    """Return h = (E[(s − s̄)f] − r E f_u)/σ², 0 where the type tells s."""
    if labels.deviations is None:
        return np.zeros_like(product)
    known = labels.deviations <= NOTHING * np.max(labels.deviations, initial=0.0)
    power = np.where(known, 1.0, labels.deviations**2)
    return np.where(known, 0.0, (product - outputs.projection * slope) / power)


def _binary_losses(labels: TypeLabels, loss: NamedLoss, outputs: Outputs) -> GaussianLosses:
    sums = np.zeros((4, len(labels.weights)))
    turning, posterior = _turning(labels, outputs), _Posterior(labels, outputs)
    for y in (1.0, -1.0):
        target = np.full(len(labels.weights), y)
        laws = (np.zeros_like(outputs.reach), outputs.reach)
        for row, gamma in enumerate(laws if np.any(outputs.reach) else laws[:1]):
            u, weights = output_rule(
                loss,
                target,
                outputs.mean,
                variance=outputs.variance,
                gamma=gamma,
                turning=turning,
            )
            x = loss.prox(y, u, gamma[:, None]) if row else u
            weights = weights * posterior.of(u, y)[0]
            sums[2 * row] += np.sum(weights * loss.value(y, x), axis=1)
            sums[2 * row + 1] += np.sum(weights * (y - x) ** 2, axis=1)
    test, train = misclassified(labels, loss, outputs)
    return GaussianLosses(sums[0], sums[1], test, sums[2], sums[3], train)


def _half_line(outputs: Outputs, cut: Floats, y: float) -> tuple[Floats, Floats]:
    """Return nodes and weights for the side of `cut` where outputs have the wrong sign."""
    deviation = np.sqrt(outputs.variance)
    edge = np.clip((cut - outputs.mean) / deviation, -REACH, REACH)
    points, weights = gauss_legendre(HALF_LINE_NODES)
    half = (edge + y * REACH)[:, None] / 2 * y
    z = edge[:, None] - y * half * (points + 1)
    u = outputs.mean[:, None] + deviation[:, None] * z
    return u, half * weights * normal_density(z)


def _node_responses(labels: TypeLabels, loss: NamedLoss, outputs: Outputs) -> Responses:
    nodes = _label_nodes(labels, loss, outputs)
    f, slopes, square = gaussian_response(
        loss, nodes.labels, nodes.law.mean, variance=nodes.law.variance, gamma=nodes.law.reach
    )
    mean, slope, power, product = (
        np.sum(nodes.weights * values, axis=0) for values in (f, slopes, square, nodes.offsets * f)
    )
    return Responses(mean, slope, power, _stein(labels, outputs, product, slope))


def _node_losses(labels: TypeLabels, loss: NamedLoss, outputs: Outputs) -> GaussianLosses:
    nodes = _label_nodes(labels, loss, outputs)
    values = gaussian_losses(
        loss, nodes.labels, nodes.law.mean, variance=nodes.law.variance, gamma=nodes.law.reach
    )
    return GaussianLosses(*(np.sum(nodes.weights * value, axis=0) for value in values))


class _LabelNodes(NamedTuple):
    """Nodes of s and of the noise (nodes × T): y, s − s̄, weight, and the law of u given both."""

    labels: Floats
    offsets: Floats
    weights: Floats
    law: Outputs


def _label_nodes(labels: TypeLabels, loss: NamedLoss, outputs: Outputs) -> _LabelNodes:
    """Return the nodes; a loss of y − u alone takes the noise as variance of u."""
    centres, sigma, teacher = labels.centres, labels.deviations, labels.teacher
    assert centres is not None
    assert sigma is not None
    assert teacher is not None
    link = teacher.link
    kinks = () if link is None else link.kinks
    safe = np.maximum(sigma, NOTHING * np.max(sigma, initial=0.0) + 1e-300)
    nodes, weights = split_rule(centres, safe, kinks, count=PROJECTION_NODES)
    seen = np.max(weights, axis=0) > SMALLEST_WEIGHT
    weights, offsets = weights[:, seen].T, safe * nodes[:, seen].T
    values = teacher.coefficients_at((centres + offsets).ravel(), np.zeros(offsets.size), 0)[0]
    slope = outputs.projection / safe**2
    left = np.maximum(
        outputs.variance - outputs.projection * slope, SMALLEST_SHARE * outputs.variance
    )
    noises, shares = _noise_nodes(labels.noise, loss)
    left = left + (labels.noise**2 if len(noises) == 1 else 0.0)
    count = (len(noises), 1)
    law = Outputs(
        np.tile(outputs.mean + slope * offsets, count), left, outputs.reach, outputs.projection
    )
    noisy = values.reshape(offsets.shape) + noises[:, None, None]
    shared = weights * shares[:, None, None]
    size = (-1, len(centres))
    return _LabelNodes(noisy.reshape(size), np.tile(offsets, count), shared.reshape(size), law)


def _noise_nodes(noise: float, loss: NamedLoss) -> tuple[Floats, Floats]:
    if noise == 0 or loss.of_residual:
        return np.zeros(1), np.ones(1)
    nodes, weights = np.polynomial.hermite_e.hermegauss(NOISE_NODES)
    return noise * nodes, weights / weights.sum()
