"""Errors at all points of a curve, from the response of the equivalent.

A change of weights by the outer product of one sample type changes τ by −S⁻¹q/π, with

    q(s, t) = C² + Σ_j ν_jϱ_j (P_sᵀΞ_jb_t)² + (P^A_sᵀΞ_Aα_t)²,   Ξ = I − 𝒮Γ
    S = diag(1/(π τ²)) − H,  H(t, t') = (k/N) Σ_j ν_jϱ_jϱ'_j (b_tᵀ𝒦_jb_t')² + k (α_tᵀ𝒦_Aα_t')²

so T_{ss'} = (1/m)[k q S⁻¹ qᵀ + N Σ_j ν_j (P_sᵀ𝒮_jP_s')² + (P^A_sᵀ𝒮_AP^A_s')²] carries the error of
one type to the others: ε = e + T diag(p/(1+δ)²) ε. Squares of inner products are products of pairs:
H has a low rank, and T is never formed.

Exact counts of the components are a correction: batches of one composition fluctuate less. With
e_c = E[φ(ŷ − y)/(1+δ) | c] the covariance of ŵ is less by (1/m) Σ_c ρ_c Qe_c(Qe_c)ᵀ, and a
training sample's own component shifts its output by φᵀQe_c/m. e_c is a function of the neuron's
type: its modes, and what the spread of features within the component does to the mean weights.
Modes dress a function f(t): f̃ = f − αᵀΓ_AΞ_A u with u = k E_t[τ α f], and φᵀQf = P^A·Ξ_A u.

Shares of wrong signs follow because a sample's output is Gaussian given its type. Its mean is M̂_s,
its covariance with z (what the label reads off S) is ψ_s, and its variance follows from
ε_s = E(y − u)². A training sample's own output is (u + δy)/(1 + δ), u that of a left-out one.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dtrtri
from scipy.special import ndtr

from onegrad.closed.equivalent import Equivalent
from onegrad.closed.feature_grid import GridStack, Pairs, times, turned
from onegrad.closed.label_law import LabelLaw
from onegrad.closed.nodes import SamplePoints
from onegrad.closed.setting import Frame
from onegrad.describe.exceptions import NotConverged
from onegrad.describe.numbers import Floats

LEADING = 10  # modes whose answers are kept in H
TOLERANCE, MOST_ITERATIONS = 1e-10, 500


@dataclass(frozen=True)
class WeightResponse:
    """The answer at every point (m, λ) of a solution; arrays have the points first."""

    solution: Equivalent

    @property
    def grid(self) -> GridStack:
        """The features."""
        return self.solution.grid

    @cached_property
    def free_linear(self) -> Floats:
        """Ξ_j."""
        matrices = self.solution.matrices
        size = matrices.linear.shape[-1]
        return np.eye(size) - matrices.linear @ matrices.linear_samples[:, None]

    @cached_property
    def free_mode(self) -> Floats:
        """Ξ_A."""
        matrices = self.solution.matrices
        return np.eye(matrices.mode.shape[-1]) - matrices.mode @ matrices.mode_samples

    @cached_property
    def loads(self) -> Floats:
        """q, points × samples × neurons."""
        grid = self.grid
        dressed = self.free_mode @ turned(grid.mode_neurons)
        total = (grid.mode_means @ dressed) ** 2
        total += (grid.mode_squares @ dressed) ** 2
        total += grid.own
        for j in range(grid.groups.shape[1]):
            linear = grid.linear @ (self.free_linear[:, j] @ turned(grid.linear_neurons))
            linear *= linear
            linear *= (grid.groups[:, j, None] * grid.profile[:, j])[:, None]
            total += linear
        return total

    @cached_property
    def _root(self) -> Floats:
        """√π τ."""
        return np.sqrt(self.grid.neuron_weights) * self.solution.tau

    @cached_property
    def _coupling(self) -> tuple[Floats, Floats]:
        """U and L⁻¹ with (√π τ S √π τ)⁻¹ = I + U(LLᵀ)⁻¹Uᵀ; U is points × neurons × pairs."""
        grid, k, matrices = self.grid, self.solution.neurons, self.solution.matrices
        columns = []
        for j in range(grid.groups.shape[1]):
            places = grid.linear_neurons @ _root_of(matrices.linear_left[:, j])
            scale = np.sqrt(grid.groups[:, j] * k / grid.bulk)
            columns.append(_pair_columns(places) * (scale[:, None] * grid.profile[:, j])[..., None])
        columns.append(np.sqrt(k)[:, None, None] * _pair_columns(self._leading_modes()))
        pairs = np.concatenate(columns, axis=-1) * self._root[..., None]
        try:
            lower = np.linalg.cholesky(np.eye(pairs.shape[-1]) - turned(pairs) @ pairs)
        except np.linalg.LinAlgError:
            raise NotConverged(
                "method='closed': the equivalent is not stable here; raise the ridge, or use "
                "method='types'"
            ) from None
        return pairs, np.stack([dtrtri(factor, lower=1)[0] for factor in lower])

    def _leading_modes(self) -> Floats:
        """Return 𝒦_A^{1/2}α of the modes that neurons resist most, points × neurons × modes."""
        grid = self.grid
        places = grid.mode_neurons @ _root_of(self.solution.matrices.mode_left)
        weighted = places * (self.solution.tau * grid.neuron_weights)[..., None]
        _, turn = np.linalg.eigh(turned(places) @ weighted)
        return places @ turn[..., -LEADING:]

    def solved(self, right: Floats) -> Floats:
        """Return S⁻¹ right, points × neurons (× columns)."""
        columns = right[..., None] if right.ndim == 2 else right
        scaled = columns * self._root[..., None]
        pairs, inverse = self._coupling
        scaled = scaled + pairs @ (turned(inverse) @ (inverse @ (turned(pairs) @ scaled)))
        scaled = scaled * self._root[..., None]
        return scaled[..., 0] if right.ndim == 2 else scaled

    def seen(self, neurons: Floats) -> Floats:
        """Return q·neurons, points × samples (× columns)."""
        if neurons.ndim == 2:
            return (self.loads @ neurons[..., None])[..., 0]
        return self.loads @ neurons

    @cached_property
    def _sample_roots(self) -> tuple[Floats, Floats, Floats]:
        """P𝒮_j^{1/2} with √(Nν_j), and P^A𝒮_A^{1/2} of both kinds of modes."""
        grid, matrices = self.grid, self.solution.matrices
        scale = (grid.bulk[:, None] * grid.groups) ** 0.25
        linear = grid.linear[:, None] @ (_root_of(matrices.linear) * scale[..., None, None])
        root = _root_of(matrices.mode)
        return linear, grid.mode_means @ root, grid.mode_squares @ root

    def carried(self, weights: Floats) -> Floats:
        """Return T·weights, points × samples."""
        k, m = self.solution.neurons, self.solution.samples[:, None]
        answer = (weights[:, None] @ self.loads)[:, 0]
        total = k[:, None] * self.seen(self.solved(answer))
        linear, first, second = self._sample_roots
        total += np.sum(_squared_times([linear], weights[:, None]), axis=1)
        total += _squared_times([first, second], weights)
        return total / m

    def settled(self, own: Floats) -> Floats:
        """Return ε = (I − T diag(p/(1+δ)²))⁻¹ e by conjugate gradients."""
        root = np.sqrt(self.grid.sample_weights) / (1 + self.solution.delta)
        rest = own * root
        answer, direction = np.zeros_like(rest), rest.copy()
        size = start = np.einsum("bs,bs->b", rest, rest)
        for _ in range(MOST_ITERATIONS):
            image = direction - root * self.carried(root * direction)
            length = size / np.maximum(np.einsum("bs,bs->b", direction, image), 1e-300)
            answer += length[:, None] * direction
            rest = rest - length[:, None] * image
            following = np.einsum("bs,bs->b", rest, rest)
            if np.all(following <= TOLERANCE**2 * start):
                return own + self.carried(root * answer)
            direction = rest + (following / np.maximum(size, 1e-300))[:, None] * direction
            size = following
        raise NotConverged(
            "method='closed': errors amplify each other without end here; raise the ridge, or use "
            "method='types'"
        )


def _root_of(matrices: Floats) -> Floats:
    """Return L with LLᵀ the symmetric matrices, its largest columns last."""
    values, vectors = np.linalg.eigh(matrices)
    return vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]


def _pair_columns(places: Floats) -> Floats:
    """Return columns whose inner products are the squares of those of `places`."""
    pairs = Pairs(places.shape[-1])
    i, j = pairs.upper
    return places[..., i] * places[..., j] * np.sqrt(pairs.counts)


def _squared_times(parts: list[Floats], weights: Floats) -> Floats:
    """Return Σ (GG'ᵀ)²·weights over all pairs of parts, squared entry by entry."""
    inner = sum(turned(part * weights[..., None]) @ part for part in parts)
    return sum(np.sum((part @ inner) * part, axis=-1) for part in parts)


@dataclass(frozen=True)
class Fit:
    """What the readout learns on average: outputs by sample type, weights by neuron type."""

    output: Floats  # M̂_s, mean output
    second_output: Floats  # of the fluctuation of |ẑ|²
    projections: Floats  # ψ_j, covariances with z by group
    covariance: Floats  # Σ_j ν_jψ_j
    pull: Floats  # ā_t: the mean weight is τ_tā_t
    square: Floats  # ā² + (1/N) Σ_j ν_jϱ_j (b_tᵀΞ_jᵀh)²
    gradient: Floats  # p_s E[ℓ' | s], ℓ' at a sample's own output

    @classmethod
    def of(cls, response: WeightResponse) -> Fit:
        """Return the mean fit at every point, for the square loss."""
        kept, label = response.solution.kept, response.grid.label
        fit = cls.to(response, kept * label(1), kept * label(1, 1))
        return replace(fit, gradient=kept * (fit.output - label(1)))  # exact where it vanishes

    @classmethod
    def to(cls, response: WeightResponse, targets: Floats, slopes: Floats) -> Fit:
        """Return the fit to targets on types and to slopes in z, with p̃ in both."""
        grid, matrices = response.grid, response.solution.matrices
        modes = times(targets, grid.mode_means)  # h_A
        linear = times(slopes, grid.linear)  # h
        learned = (modes[:, None] @ turned(matrices.mode))[:, 0]
        output, second = (times(learned, turned(p)) for p in (grid.mode_means, grid.mode_squares))
        fitted = (linear[:, None, None] @ turned(matrices.linear))[:, :, 0]  # points × groups × R
        projections = fitted @ turned(grid.linear)
        pull = times((modes[:, None] @ response.free_mode)[:, 0], turned(grid.mode_neurons))
        freed = (linear[:, None, None] @ response.free_linear)[:, :, 0]
        along = freed @ turned(grid.linear_neurons)
        spread = np.sum(grid.groups[..., None] * grid.profile * along**2, axis=1)
        square = pull**2 + spread / grid.bulk[:, None]
        mean = np.sum(grid.groups[..., None] * projections, axis=1)
        gradient = response.solution.kept * output - targets
        return cls(output, second, projections, mean, pull, square, gradient)

    def variance(self, response: WeightResponse) -> Floats:
        """Return the variance of the mean weights' output given the type, points × samples."""
        grid, k = response.grid, response.solution.neurons[:, None]
        own = self.second_output**2
        own += np.sum(grid.groups[..., None] * self.projections**2, axis=1)
        return own + k * response.seen(response.solved(self.square))

    def norm(self, response: WeightResponse, force: Floats) -> Floats:
        """Return k² 1ᵀS⁻¹ā² + (k²/m) Σ force (q S⁻¹1) for force_s = p_s E[ℓ'² | s], of points."""
        solution = response.solution
        k = solution.neurons[:, None]
        flat = k * response.solved(k * np.ones_like(self.square))
        norm = np.sum(flat * self.square, axis=1)
        return norm + np.sum(force * response.seen(flat), axis=1) / solution.samples


@dataclass(frozen=True)
class CountsCorrection:
    """What is taken off the error of every type and off ‖ŵ‖², and the shift of outputs."""

    error: Floats  # points × samples
    shift: Floats  # points × samples
    norm: Floats  # points


def counts_correction(response: WeightResponse, fit: Fit, *, exact: bool) -> CountsCorrection:
    """Return the terms; counts that are sampled have one e = Σ_c ρ_c e_c for all components."""
    grid, solution = response.grid, response.solution
    k, m = solution.neurons[:, None], solution.samples[:, None]
    vectors, shares = _residuals(response, fit)
    if not exact:
        vectors, shares = (
            np.sum(shares[..., None] * vectors, axis=1, keepdims=True),
            np.ones((1, 1)),
        )
    alpha = grid.mode_neurons
    weighted = vectors * (solution.tau * grid.neuron_weights)[:, None]
    reach = k[..., None] * (weighted @ alpha) @ turned(response.free_mode)
    dressed = vectors - reach @ solution.matrices.mode_samples @ turned(alpha)
    answer = response.solved(turned(dressed**2))  # points × neurons × components
    error = k * _shared(response.seen(answer), shares)
    for part in (grid.mode_means, grid.mode_squares):
        error += _shared((part @ turned(reach)) ** 2, shares)
    own = np.take_along_axis(reach, grid.part[..., None], axis=1) if exact else reach
    return CountsCorrection(
        error / m,
        np.sum(grid.mode_means * own, axis=-1) / m,
        (k * k / m * _shared(answer.sum(axis=1, keepdims=True), shares))[:, 0],
    )


def _shared(values: Floats, shares: Floats) -> Floats:
    """Return the mean over components, the last axis."""
    return np.asarray(np.sum(values * shares[:, None], axis=-1))


def _residuals(response: WeightResponse, fit: Fit) -> tuple[Floats, Floats]:
    """Return e_c over neurons for every component, and the components' shares."""
    grid, solution = response.grid, response.solution
    kept = solution.kept
    resistance = 1 / solution.tau - (solution.neurons * solution.ridges)[:, None]
    spread = resistance * solution.tau * fit.pull / np.maximum(times(kept, grid.own), 1e-300)
    members = grid.part[:, None] == np.arange(int(grid.part.max()) + 1)[:, None]
    shares = np.sum(members * grid.sample_weights[:, None], axis=-1)
    residual = members * fit.gradient[:, None]
    vectors = residual @ grid.mode_means @ turned(grid.mode_neurons)
    vectors += ((members * kept[:, None]) @ grid.own) * spread[:, None]
    return vectors / shares[..., None], shares


SMALLEST_VARIANCE = 1e-300


@dataclass(frozen=True)
class WrongSigns:
    """Shares of wrong signs on test and on training samples, at every point."""

    misclassification: Floats
    train_misclassification: Floats


def wrong_signs(
    errors: PointErrors, frame: Frame, samples: SamplePoints, law: LabelLaw
) -> WrongSigns:
    """Return the rates at every point of one setting, for labels +1 and −1."""
    label = errors.grid.label
    h0, h1, h2 = label(1), label(1, 1), label(2)
    a, psi = errors.output, errors.covariance
    power = errors.error - h2 + 2 * h0 * a + 2 * h1 * psi  # E u²
    spread = np.maximum(power - a**2 - psi**2, SMALLEST_VARIANCE)[..., None]
    deviation = frame.reads_off * np.sqrt(samples.level)
    means, weights, nodes = law.values(samples.centres(frame), deviation, samples.labels(frame))
    slope = psi[..., None] * nodes
    share = samples.weights[:, None] * weights

    def rate(centre: Floats, fitted: Floats, noise: Floats) -> Floats:
        scale = np.sqrt(spread + noise)
        plus = ndtr(-(centre[..., None] + slope + fitted) / scale)  # u too low for a label +1
        minus = ndtr((centre[..., None] + slope - fitted) / scale)
        wrong = 0.5 * (1 + means) * plus + 0.5 * (1 - means) * minus
        return np.asarray(np.sum(share * wrong, axis=(-1, -2)))

    none, delta = np.zeros(1), errors.delta[..., None]
    noise = none if law.signs else (delta * law.noise) ** 2
    return WrongSigns(rate(a, none, none), rate(a + errors.shift, delta, noise))


@dataclass(frozen=True)
class PointErrors:
    """ε_s and all that follows from it; arrays have the points first."""

    grid: GridStack
    error: Floats  # ε_s, the mean squared test error of the type
    own_error: Floats  # the same on other samples of the same training sets
    delta: Floats
    output: Floats  # M̂_s, the mean output of the type
    covariance: Floats  # ψ_s, of the output with z
    shift: Floats  # of the output on training samples, by exact counts
    norm: Floats  # E‖ŵ‖²
    bias: Floats  # Σ p e, the error without what the variance of ŵ adds

    @property
    def test_mse(self) -> Floats:
        """Σ p_s ε_s."""
        return self._mean(self.error)

    @property
    def train_mse(self) -> Floats:
        """Σ p_s ε_s/(1 + δ_s)²."""
        return self._mean(self.own_error / (1 + self.delta) ** 2)

    def chosen(self, points: slice) -> PointErrors:
        """Return the errors at some of the points."""
        parts = (getattr(self, field.name) for field in fields(self)[1:])
        return PointErrors(self.grid.chosen(points), *(values[points] for values in parts))

    def _mean(self, values: Floats) -> Floats:
        """Return the mean over types of samples."""
        return np.asarray(np.sum(values * self.grid.sample_weights, axis=1))


def point_errors(solution: Equivalent, *, exact_counts: bool) -> PointErrors:
    """Return the errors at every point of a solution.

    e_s = H_2 − 2H_0M̂ − 2H_1ψ + M̂² + Σ_jν_jψ_j² + k q S⁻¹ā²,  ε = (I − T diag(p/(1+δ)²))⁻¹ e
    ‖ŵ‖² = k² 1ᵀS⁻¹ā² + (k²/m) Σ p ε (q S⁻¹1)/(1+δ)²
    """
    response = WeightResponse(solution)
    grid = response.grid
    fit = Fit.of(response)
    h0, h1, h2 = grid.label(1), grid.label(1, 1), grid.label(2)
    own = h2 - 2 * h0 * fit.output - 2 * h1 * fit.covariance
    own += fit.output**2 + fit.variance(response)
    counts = counts_correction(response, fit, exact=exact_counts)
    error = response.settled(own - counts.error)
    fitted = grid.sample_weights / (1 + solution.delta) ** 2 * error
    return PointErrors(
        grid,
        error,
        error + 2 * (fit.output - h0) * counts.shift + counts.shift**2,
        solution.delta,
        fit.output,
        fit.covariance,
        counts.shift,
        fit.norm(response, fitted) - counts.norm,
        np.sum(own * grid.sample_weights, axis=1),
    )
