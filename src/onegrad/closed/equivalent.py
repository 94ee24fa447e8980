"""The two-sided deterministic equivalent: a fixed point over types of samples and of neurons.

With p̃_s = p_s/(1 + δ_s), the matrices Γ = Σ p̃ PPᵀ, Γ_A = Σ p̃ P^A P^Aᵀ and D_t = Σ p̃ C²(s, t),

    τ_t = 1/(kλ + D_t + Σ_j ν_j ϱ_j b_tᵀ𝒦_j b_t + α_tᵀ𝒦_A α_t)
    𝒯_j = (k/N) E_t[τ ϱ_j b bᵀ],  𝒮_j = (I + 𝒯_jΓ)⁻¹𝒯_j,  𝒦_j = Γ − Γ𝒮_jΓ
    𝒢 = k E_t[τ α αᵀ],           𝒮_A = (I + 𝒢Γ_A)⁻¹𝒢,   𝒦_A = Γ_A − Γ_A𝒮_AΓ_A
    δ_s = (1/m)[k E_t[C²_s τ] + N Σ_j ν_j P_sᵀ𝒮_jP_s + P^A_sᵀ𝒮_AP^A_s]

All points of a curve are iterated together, on the logarithms of 1 + δ and τ.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from onegrad.calculus.fixed_point import accelerated
from onegrad.closed.feature_grid import FeatureGrid, GridStack, Pairs, times, turned
from onegrad.describe.exceptions import NotConverged
from onegrad.describe.numbers import Floats, Ints

TOLERANCE = 1e-7
TOLERANCE_OF_TAU = 1e-10  # where p̃ is given: an outer iteration must not see it
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

    grid: GridStack
    samples: Floats
    ridges: Floats
    kept: Floats  # p̃_s
    delta: Floats
    tau: Floats
    matrices: Matrices
    iterations: int

    @property
    def neurons(self) -> Floats:
        """k, of every grid."""
        return self.grid.neurons


@dataclass(frozen=True)
class Products:
    """x_i x_j of the factors of samples and of neurons, grids × rows × pairs."""

    samples: Floats
    neurons: Floats
    mode_samples: Floats
    mode_neurons: Floats

    def chosen(self, points: Ints) -> Products:
        """Return those of some of the points."""
        return Products(*(getattr(self, field.name)[points] for field in fields(self)))


@dataclass(frozen=True)
class Equations:
    """The equations of every point's grid, with products of factors made once."""

    grid: GridStack

    @classmethod
    def of(cls, grid: FeatureGrid, neurons: int) -> Equations:
        """Return the equations of one grid, for any number of points."""
        return cls(GridStack.of([grid], [neurons]))

    @cached_property
    def linear_pairs(self) -> Pairs:
        """Pairs of factors of a_1."""
        return Pairs(self.grid.linear.shape[-1])

    @cached_property
    def mode_pairs(self) -> Pairs:
        """Pairs of modes."""
        return Pairs(self.grid.mode_neurons.shape[-1])

    @cached_property
    def products(self) -> Products:
        """The products of factors."""
        grid, linear, modes = self.grid, self.linear_pairs, self.mode_pairs
        return Products(
            linear.products(grid.linear),
            linear.products(grid.linear_neurons),
            modes.products(grid.mode_means) + modes.products(grid.mode_squares),
            modes.products(grid.mode_neurons),
        )

    def chosen(self, points: Ints) -> Equations:
        """Return the equations of some of the points, a point once or more often."""
        if self.grid.is_shared:
            return self
        part = Equations(self.grid.chosen(points))
        part.__dict__["products"] = self.products.chosen(points)  # made once
        return part

    def solve(self, samples: Floats, ridges: Floats) -> Equivalent:
        """Return the solution at points (m, λ), one for each entry of both."""
        m, penalty = np.asarray(samples, float), np.asarray(ridges, float)
        count = self.grid.sample_weights.shape[1]
        start = np.empty((len(m), count + self.grid.neuron_weights.shape[1]))
        start[:, :count] = np.log1p(self.grid.neurons / m)[:, None]
        shrunk = self.grid.sample_weights * np.exp(-start[:, :count])
        start[:, count:] = np.log(self.first_tau(shrunk, penalty))
        going = _Active(self, m, penalty, np.arange(len(m)), start.copy())

        def image(x: Floats, chosen: Ints) -> Floats:
            nonlocal going
            going = going.fewer(chosen)
            return going.image(x, chosen)

        x, iterations, residual = accelerated(
            image, start, tolerance=TOLERANCE, most=MOST_ITERATIONS
        )
        require_small(residual, TOLERANCE)
        delta, tau, matrices = self.image(x, m, penalty)
        kept = self.grid.sample_weights / (1 + delta)
        return Equivalent(self.grid, m, penalty, kept, delta, tau, matrices, iterations)

    def answer(self, kept: Floats, samples: Floats, ridges: Floats, tau: Floats) -> Equivalent:
        """Return the solution for given p̃, points × samples: τ alone is iterated, from `tau`."""

        def image(x: Floats, chosen: Ints) -> Floats:
            part = self.chosen(chosen)
            how = kept[chosen], np.exp(x), samples[chosen], ridges[chosen]
            return np.log(part.following(*how)[1])

        x, iterations, residual = accelerated(
            image, np.log(tau), tolerance=TOLERANCE_OF_TAU, most=MOST_ITERATIONS
        )
        require_small(residual, TOLERANCE_OF_TAU)
        delta, tau, matrices = self.following(kept, np.exp(x), samples, ridges)
        return Equivalent(self.grid, samples, ridges, kept, delta, tau, matrices, iterations)

    def first_tau(self, weights: Floats, penalty: Floats) -> Floats:
        """Return τ with all directions free, for p̃ = weights."""
        grid = self.grid
        pairs, neurons = self.products.samples, self.products.neurons
        direct = times(times(weights, pairs) * self.linear_pairs.counts, turned(neurons))
        left = times(weights, grid.own) + 0.5 * direct
        return 1 / ((grid.neurons * penalty)[:, None] + left)

    def image(self, x: Floats, m: Floats, penalty: Floats) -> tuple[Floats, Floats, Matrices]:
        """Return δ, τ and the matrices that follow from the last ones."""
        count = self.grid.sample_weights.shape[1]
        weights = self.grid.sample_weights * np.exp(-x[:, :count])
        return self.following(weights, np.exp(x[:, count:]), m, penalty)

    def following(
        self, weights: Floats, tau: Floats, m: Floats, penalty: Floats
    ) -> tuple[Floats, Floats, Matrices]:
        """Return δ, τ and the matrices that follow from p̃ and the last τ."""
        grid, k = self.grid, self.grid.neurons
        share = tau * grid.neuron_weights
        matrices = self._matrices(weights, share)
        pairs, neurons = self.products.samples, self.products.neurons
        mode_pairs, mode_neurons = self.products.mode_samples, self.products.mode_neurons
        forms = self.linear_pairs.form(matrices.linear_left)  # points × groups × pairs
        loads = forms @ turned(neurons) * grid.profile  # points × groups × neurons
        left = (k * penalty)[:, None] + times(weights, grid.own)
        left += np.sum(grid.groups[..., None] * loads, axis=1)
        resisted = times(self.mode_pairs.form(matrices.mode_left), turned(mode_neurons))
        left += np.maximum(resisted, 0.0)
        mean = np.sum(grid.groups[..., None, None] * matrices.linear, axis=1)
        reach = k[:, None] * times(share, turned(grid.own))
        reach += grid.bulk[:, None] * times(self.linear_pairs.form(mean), turned(pairs))
        reach += times(self.mode_pairs.form(matrices.mode), turned(mode_pairs))
        return np.maximum(reach, 0.0) / m[:, None], 1 / left, matrices

    def _matrices(self, weights: Floats, share: Floats) -> Matrices:
        grid, k = self.grid, self.grid.neurons
        pairs, neurons = self.products.samples, self.products.neurons
        mode_pairs, mode_neurons = self.products.mode_samples, self.products.mode_neurons
        gamma = self.linear_pairs.matrix(times(weights, pairs))[:, None]
        gamma_modes = self.mode_pairs.matrix(times(weights, mode_pairs))
        shares = (k / grid.bulk)[:, None, None] * ((share[:, None] * grid.profile) @ neurons)
        direct = self.linear_pairs.matrix(shares)
        direct_modes = self.mode_pairs.matrix(k[:, None] * times(share, mode_neurons))
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


@dataclass(frozen=True)
class _Active:
    """The points that are still iterated; grids are copied only when half of them have ended."""

    equations: Equations
    samples: Floats
    ridges: Floats
    points: Ints
    x: Floats  # the last of every point

    def fewer(self, chosen: Ints) -> _Active:
        """Return what goes on with these points, or this where most are left."""
        if not self.equations.grid.is_shared and 2 * len(chosen) > len(self.points):
            return self
        places = np.searchsorted(self.points, chosen)
        return _Active(
            self.equations.chosen(places),
            self.samples[places],
            self.ridges[places],
            chosen,
            self.x[places],
        )

    def image(self, x: Floats, chosen: Ints) -> Floats:
        """Return the image of the chosen points."""
        places = np.searchsorted(self.points, chosen)
        self.x[places] = x
        delta, tau, _ = self.equations.image(self.x, self.samples, self.ridges)
        return np.concatenate([np.log1p(delta[places]), np.log(tau[places])], axis=1)


def require_small(residual: float, tolerance: float) -> None:
    """Raise NotConverged where an iteration ended before its residual was small."""
    if not residual < tolerance:
        raise NotConverged(
            f"method='closed': did not converge in {MOST_ITERATIONS} iterations (residual "
            f"{residual:.1g}); raise the ridge, or use method='types'"
        )


def _resolved(direct: Floats, gamma: Floats) -> Floats:
    """Return (I + direct·gamma)⁻¹ direct, which is symmetric."""
    size = direct.shape[-1]
    solved = np.linalg.solve(np.eye(size) + direct @ gamma, direct)
    return 0.5 * (solved + np.swapaxes(solved, -1, -2))
