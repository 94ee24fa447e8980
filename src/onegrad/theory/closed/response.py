"""How the equivalent answers to a change of the samples' weights, at all points of a curve at once.

A change of weights by the outer product of one sample type changes τ by −S⁻¹q/π, with

    q(s, t) = C² + Σ_j ν_jϱ_j (P_sᵀΞ_jb_t)² + (P^A_sᵀΞ_Aα_t)²,   Ξ = I − 𝒮Γ
    S = diag(1/(π τ²)) − H,  H(t, t') = (k/N) Σ_j ν_jϱ_jϱ'_j (b_tᵀ𝒦_jb_t')² + k (α_tᵀ𝒦_Aα_t')²

so T_{ss'} = (1/m)[k q S⁻¹ qᵀ + N Σ_j ν_j (P_sᵀ𝒮_jP_s')² + (P^A_sᵀ𝒮_AP^A_s')²] carries the error of
one type to the others: ε = e + T diag(p/(1+δ)²) ε. Squares of inner products are products of pairs:
H has a low rank, and T is never formed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dtrtri

from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import NotConverged
from onegrad.theory.closed.equivalent import Equivalent
from onegrad.theory.closed.feature_grid import Pairs
from onegrad.theory.closed.grid_stack import GridStack, times, turned

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
