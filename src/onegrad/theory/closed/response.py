"""Errors from one linear response of the equivalent.

A change of weights by the outer product of one sample type changes τ by −S⁻¹q/π, with

    q(s, t) = C² + Σ_j ν_jϱ_j (P_sᵀΞ_jb_t)² + (P^A_sᵀΞ_Aα_t)²,   Ξ = I − 𝒮Γ
    S = diag(1/(π τ²)) − H,  H(t, t') = (k/N) Σ_j ν_jϱ_jϱ'_j (b_tᵀ𝒦_jb_t')² + k (α_tᵀ𝒦_Aα_t')²

so T_{ss'} = (1/m)[k q S⁻¹ qᵀ + N Σ_j ν_j (P_sᵀ𝒮_jP_s')² + (P^A_sᵀ𝒮_AP^A_s')²] carries the error of
one type to the others: ε = e + T diag(p/(1+δ)²) ε.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from onegrad.describe.arrays import Floats
from onegrad.theory.closed.equivalent import Equivalent
from onegrad.theory.closed.feature_grid import FeatureGrid


@dataclass(frozen=True)
class Response:
    """One point (m, λ) of a solution, and how it answers to a change of weights."""

    solution: Equivalent
    index: int

    @property
    def grid(self) -> FeatureGrid:
        """The features."""
        return self.solution.grid

    @property
    def neurons(self) -> int:
        """k."""
        return self.solution.neurons

    @property
    def samples(self) -> float:
        """m."""
        return float(self.solution.samples[self.index])

    @property
    def delta(self) -> Floats:
        """δ_s."""
        return self.solution.delta[self.index]

    @property
    def tau(self) -> Floats:
        """τ_t."""
        return self.solution.tau[self.index]

    @property
    def kept(self) -> Floats:
        """p̃_s = p_s/(1 + δ_s)."""
        return self.grid.sample_weights / (1 + self.delta)

    @property
    def linear(self) -> Floats:
        """𝒮_j."""
        return self.solution.matrices.linear[self.index]

    @property
    def mode(self) -> Floats:
        """𝒮_A."""
        return self.solution.matrices.mode[self.index]

    @property
    def mode_samples(self) -> Floats:
        """Γ_A."""
        return self.solution.matrices.mode_samples[self.index]

    @cached_property
    def free_linear(self) -> Floats:
        """Ξ_j."""
        gamma = self.solution.matrices.linear_samples[self.index]
        return np.eye(len(gamma)) - self.linear @ gamma

    @cached_property
    def free_mode(self) -> Floats:
        """Ξ_A."""
        return np.eye(len(self.mode)) - self.mode @ self.mode_samples

    @cached_property
    def loads(self) -> Floats:
        """q, samples × neurons."""
        grid = self.grid
        total = grid.own + sum(
            (part @ self.free_mode @ grid.mode_neurons.T) ** 2 for part in grid.modes
        )
        for share, profile, free in zip(grid.groups, grid.profile, self.free_linear, strict=True):
            total += (share * profile) * (grid.linear @ free @ grid.linear_neurons.T) ** 2
        return total

    @cached_property
    def _factor(self) -> tuple[tuple[Floats, bool], Floats]:
        """√π τ S √π τ, factored, and √π τ."""
        grid, k, matrices = self.grid, self.neurons, self.solution.matrices
        b, alpha = grid.linear_neurons, grid.mode_neurons
        carried = k * (alpha @ matrices.mode_left[self.index] @ alpha.T) ** 2
        for share, profile, left in zip(
            grid.groups, grid.profile, matrices.linear_left[self.index], strict=True
        ):
            pair = (b @ left @ b.T) ** 2
            carried += (share * k / grid.bulk) * (profile[:, None] * pair * profile)
        root = np.sqrt(grid.neuron_weights) * self.tau
        system = np.eye(len(root)) - root[:, None] * carried * root
        return cho_factor(system, lower=True, check_finite=False), root

    def solved(self, right: Floats) -> Floats:
        """Return S⁻¹ right, for columns."""
        factor, root = self._factor
        answer: Floats = cho_solve(factor, (right.T * root).T, check_finite=False)
        return (answer.T * root).T

    @cached_property
    def carried(self) -> Floats:
        """T, samples × samples."""
        grid = self.grid
        total = self.neurons * self.loads @ self.solved(self.loads.T)
        for share, own in zip(grid.groups, self.linear, strict=True):
            total += grid.bulk * share * (grid.linear @ own @ grid.linear.T) ** 2
        for left in grid.modes:
            for right in grid.modes:
                total += (left @ self.mode @ right.T) ** 2
        return total / self.samples


@dataclass(frozen=True)
class Fit:
    """What the readout learns on average: outputs by sample type, weights by neuron type."""

    output: Floats  # M̂_s, mean output
    second_output: Floats  # of the fluctuation of |ẑ|²
    projections: Floats  # ψ_j, groups × samples: covariance with z
    covariance: Floats  # Σ_j ν_jψ_j
    pull: Floats  # ā_t: the mean weight is τ_tā_t
    square: Floats  # ā² + (1/N) Σ_j ν_jϱ_j (b_tᵀΞ_jᵀh)²

    @classmethod
    def of(cls, point: Response) -> Fit:
        """Return the mean fit at one point."""
        grid = point.grid
        modes = (point.kept * grid.label(1)) @ grid.modes[0]  # h_A
        linear = (point.kept * grid.label(1, 1)) @ grid.linear  # h
        output, second = (part @ (point.mode @ modes) for part in grid.modes)
        projections = (point.linear @ linear) @ grid.linear.T
        pull = grid.mode_neurons @ (point.free_mode.T @ modes)
        along = (linear @ point.free_linear) @ grid.linear_neurons.T  # groups × neurons
        square = pull**2 + grid.groups @ (grid.profile * along**2) / grid.bulk
        return cls(output, second, projections, grid.groups @ projections, pull, square)
