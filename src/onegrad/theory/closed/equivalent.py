"""The two-sided deterministic equivalent: a fixed point over types of samples and of neurons.

With p̃_s = p_s/(1 + δ_s), the matrices Γ = Σ p̃ PPᵀ, Γ_A = Σ p̃ P^A P^Aᵀ and D_t = Σ p̃ C²(s, t),

    τ_t = 1/(kλ + D_t + Σ_j ν_j ϱ_j b_tᵀ𝒦_j b_t + α_tᵀ𝒦_A α_t)
    𝒯_j = (k/N) E_t[τ ϱ_j b bᵀ],  𝒮_j = (I + 𝒯_jΓ)⁻¹𝒯_j,  𝒦_j = Γ − Γ𝒮_jΓ
    𝒢 = k E_t[τ α αᵀ],           𝒮_A = (I + 𝒢Γ_A)⁻¹𝒢,   𝒦_A = Γ_A − Γ_A𝒮_AΓ_A
    δ_s = (1/m)[k E_t[C²_s τ] + N Σ_j ν_j P_sᵀ𝒮_jP_s + P^A_sᵀ𝒮_AP^A_s]

All points (m, λ) of a curve are iterated together, on the logarithms of 1 + δ and τ.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from onegrad.describe.arrays import Floats, Ints
from onegrad.describe.exceptions import NotConverged
from onegrad.theory.closed.acceleration import accelerated
from onegrad.theory.closed.feature_grid import FeatureGrid, Pairs

TOLERANCE = 1e-7
MOST_ITERATIONS = 300


@dataclass(frozen=True)
class Matrices:
    """Γ, Γ_A, 𝒮, 𝒮_A, 𝒦, 𝒦_A of every point; linear ones have an axis of groups."""

    linear_samples: Floats  # Γ
    mode_samples: Floats  # Γ_A
    linear: Floats  # 𝒮_j
    mode: Floats  # 𝒮_A
    linear_left: Floats  # 𝒦_j
    mode_left: Floats  # 𝒦_A


@dataclass(frozen=True)
class Equivalent:
    """The solution at every point: δ (points × samples), τ (points × neurons) and matrices."""

    grid: FeatureGrid
    neurons: int
    samples: Floats
    ridges: Floats
    delta: Floats
    tau: Floats
    matrices: Matrices
    iterations: int


@dataclass(frozen=True)
class Equations:
    """The equations of one grid, with products of factors made once."""

    grid: FeatureGrid
    neurons: int

    @cached_property
    def linear_pairs(self) -> Pairs:
        """Pairs of factors of a_1."""
        return Pairs(self.grid.linear.shape[1])

    @cached_property
    def mode_pairs(self) -> Pairs:
        """Pairs of modes."""
        return Pairs(self.grid.mode_neurons.shape[1])

    @cached_property
    def _products(self) -> tuple[Floats, Floats, Floats, Floats]:
        grid, linear, modes = self.grid, self.linear_pairs, self.mode_pairs
        return (
            linear.products(grid.linear),
            linear.products(grid.linear_neurons),
            modes.products(grid.modes[0]) + modes.products(grid.modes[1]),
            modes.products(grid.mode_neurons),
        )

    def solve(self, samples: Floats, ridges: Floats) -> Equivalent:
        """Return the solution at points (m, λ), one for each entry of both."""
        m, penalty = np.asarray(samples, float), np.asarray(ridges, float)
        count = len(self.grid.sample_weights)
        start = np.empty((len(m), count + len(self.grid.neuron_weights)))
        start[:, :count] = np.log1p(self.neurons / m)[:, None]
        start[:, count:] = self._first_tau(np.exp(-start[:, :count]), penalty)

        def image(x: Floats, chosen: Ints) -> Floats:
            delta, tau, _ = self._image(x, m[chosen], penalty[chosen])
            return np.concatenate([np.log1p(delta), np.log(tau)], axis=1)

        x, iterations, residual = accelerated(
            image, start, tolerance=TOLERANCE, most=MOST_ITERATIONS
        )
        if not residual < TOLERANCE:
            raise NotConverged(
                f"method='closed': did not converge in {MOST_ITERATIONS} iterations (residual "
                f"{residual:.1g}); raise the ridge, or use method='types'"
            )
        delta, tau, matrices = self._image(x, m, penalty)
        return Equivalent(self.grid, self.neurons, m, penalty, delta, tau, matrices, iterations)

    def _first_tau(self, shrink: Floats, penalty: Floats) -> Floats:
        """Return log τ with all directions free."""
        grid = self.grid
        weights = grid.sample_weights * shrink
        pairs, neurons, _, _ = self._products
        direct = (weights @ pairs * self.linear_pairs.counts) @ neurons.T
        left = weights @ grid.own + 0.5 * direct
        return -np.log(self.neurons * penalty[:, None] + left)

    def _image(self, x: Floats, m: Floats, penalty: Floats) -> tuple[Floats, Floats, Matrices]:
        """Return δ, τ and the matrices that follow from the last ones."""
        grid, k = self.grid, self.neurons
        count = len(grid.sample_weights)
        weights = grid.sample_weights * np.exp(-x[:, :count])
        tau = np.exp(x[:, count:])
        share = tau * grid.neuron_weights
        matrices = self._matrices(weights, share)
        pairs, neurons, mode_pairs, mode_neurons = self._products
        forms = self.linear_pairs.form(matrices.linear_left)  # points × groups × pairs
        loads = forms @ neurons.T * grid.profile  # points × groups × neurons
        left = k * penalty[:, None] + weights @ grid.own
        left += np.einsum("j,bjt->bt", grid.groups, loads)
        left += np.maximum(self.mode_pairs.form(matrices.mode_left) @ mode_neurons.T, 0.0)
        mean = np.einsum("j,bjrs->brs", grid.groups, matrices.linear)
        reach = k * (share @ grid.own.T)
        reach += grid.bulk * (self.linear_pairs.form(mean) @ pairs.T)
        reach += self.mode_pairs.form(matrices.mode) @ mode_pairs.T
        return np.maximum(reach, 0.0) / m[:, None], 1 / left, matrices

    def _matrices(self, weights: Floats, share: Floats) -> Matrices:
        grid, k = self.grid, self.neurons
        pairs, neurons, mode_pairs, mode_neurons = self._products
        gamma = self.linear_pairs.matrix(weights @ pairs)[:, None]
        gamma_modes = self.mode_pairs.matrix(weights @ mode_pairs)
        direct = self.linear_pairs.matrix(
            (k / grid.bulk) * ((share[:, None] * grid.profile) @ neurons)
        )
        direct_modes = self.mode_pairs.matrix(k * (share @ mode_neurons))
        linear = _resolved(direct, gamma)
        mode = _resolved(direct_modes, gamma_modes)
        return Matrices(
            gamma[:, 0],
            gamma_modes,
            linear,
            mode,
            gamma - gamma @ linear @ gamma,
            gamma_modes - gamma_modes @ mode @ gamma_modes,
        )


def _resolved(direct: Floats, gamma: Floats) -> Floats:
    """Return (I + direct·gamma)⁻¹ direct, which is symmetric."""
    size = direct.shape[-1]
    solved = np.linalg.solve(np.eye(size) + direct @ gamma, direct)
    return 0.5 * (solved + np.swapaxes(solved, -1, -2))
