"""Errors from one linear response of the equivalent.

A change of weights by the outer product of one sample type changes τ by −S⁻¹q/π, with

    q(s, t) = C² + Σ_j ν_jϱ_j (P_sᵀΞ_jb_t)² + (P^A_sᵀΞ_Aα_t)²,   Ξ = I − 𝒮Γ
    S = diag(1/(π τ²)) − H,  H(t, t') = (k/N) Σ_j ν_jϱ_jϱ'_j (b_tᵀ𝒦_jb_t')² + k (α_tᵀ𝒦_Aα_t')²

so T_{ss'} = (1/m)[k q S⁻¹ qᵀ + N Σ_j ν_j (P_sᵀ𝒮_jP_s')² + (P^A_sᵀ𝒮_AP^A_s')²] carries the error of one
type to the others: ε = e + T diag(p/(1+δ)²) ε.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lu_factor, lu_solve

from onegrad.describe.arrays import Floats
from onegrad.theory.closed.equivalent import Equivalent
from onegrad.theory.closed.feature_grid import FeatureGrid


@dataclass(frozen=True)
class PointErrors:
    """Errors at one point (m, λ), by type of sample."""

    grid: FeatureGrid
    error: Floats  # ε_s, the mean squared test error of the type
    trained_error: Floats  # the same for a sample's own training set, before it is fitted
    delta: Floats
    output: Floats  # M̂_s, the mean output of the type
    covariance: Floats  # ψ_s, of the output with z
    norm: float  # E‖ŵ‖²
    bias: float  # Σ p e, the error without what the variance of ŵ adds
    shift: Floats  # of the output on training samples, by exact counts

    @property
    def test_mse(self) -> float:
        """Σ p_s ε_s."""
        return float(self.grid.sample_weights @ self.error)

    @property
    def train_mse(self) -> float:
        """Σ p_s ε_s/(1 + δ_s)²."""
        return float(self.grid.sample_weights @ (self.trained_error / (1 + self.delta) ** 2))


def point_errors(solution: Equivalent, index: int, *, exact_counts: bool) -> PointErrors:
    """Return the errors at one point of a solution."""
    grid, k, m = solution.grid, solution.neurons, float(solution.samples[index])
    delta, tau, mats = solution.delta[index], solution.tau[index], solution.matrices
    gamma, gamma_a = mats.linear_samples[index], mats.mode_samples[index]
    linear, mode = mats.linear[index], mats.mode[index]
    p, pi, b, alpha = (
        grid.sample_weights,
        grid.neuron_weights,
        grid.linear_neurons,
        grid.mode_neurons,
    )
    p0, p2 = grid.modes
    kept = p / (1 + delta)
    h0, h1, h2 = grid.label(1), grid.label(1, 1), grid.label(2)
    free = np.eye(gamma.shape[0]) - linear @ gamma  # Ξ_j
    free_a = np.eye(gamma_a.shape[0]) - mode @ gamma_a
    h_modes, h_linear = (kept * h0) @ p0, (kept * h1) @ grid.linear
    solved = mode @ h_modes
    output, second_output = p0 @ solved, p2 @ solved
    projections = np.einsum("sr,jrq,q->js", grid.linear, linear, h_linear)  # ψ_j
    pull = (alpha @ (free_a.T @ h_modes)) ** 2  # ā²
    pull = (
        pull
        + np.einsum(
            "j,jt,jt->t",
            grid.groups,
            grid.profile,
            np.einsum("tr,jqr,q->jt", b, free.transpose(0, 2, 1), h_linear) ** 2,
        )
        / grid.bulk
    )
    response = Response.of(solution, index, free, free_a)
    carried = response.carried(p0, p2, linear, mode, m)
    change = k * response.loads @ response.solved(pull)  # −∂J
    own = h2 - 2 * h0 * output - 2 * h1 * (grid.groups @ projections)
    own += output**2 + second_output**2 + grid.groups @ projections**2 + change
    counts = _counts(solution, index, response, free_a, output, exact_counts)
    weights = p / (1 + delta) ** 2
    system = np.eye(len(p)) - carried * weights
    factor = lu_factor(system, check_finite=False)
    error = lu_solve(factor, own - counts.taken, check_finite=False)
    flat = response.solved(np.full(len(pi), float(k)))
    norm = k * float(flat @ pull) + k / m * float((weights * error) @ (response.loads @ flat))
    trained = error + 2 * (output - h0) * counts.shift + counts.shift**2
    return PointErrors(
        grid,
        error,
        trained,
        delta,
        output,
        grid.groups @ projections,
        norm - counts.norm,
        float(p @ own),
        counts.shift,
    )


@dataclass(frozen=True)
class Response:
    """q (samples × neurons) and the factored S."""

    grid: FeatureGrid
    neurons: int
    loads: Floats
    root: Floats  # √π τ
    factor: tuple[Floats, bool]

    @classmethod
    def of(cls, solution: Equivalent, index: int, free: Floats, free_a: Floats) -> Response:
        """Return the response of one point; `free` and `free_a` are Ξ_j and Ξ_A."""
        grid, k = solution.grid, solution.neurons
        b, alpha = grid.linear_neurons, grid.mode_neurons
        loads = grid.own + sum((part @ free_a @ alpha.T) ** 2 for part in grid.modes)
        carried = k * (alpha @ solution.matrices.mode_left[index] @ alpha.T) ** 2
        for share, profile, own, left in zip(
            grid.groups, grid.profile, free, solution.matrices.linear_left[index], strict=True
        ):
            loads = loads + (share * profile) * (grid.linear @ own @ b.T) ** 2
            carried += (share * k / grid.bulk) * np.outer(profile, profile) * (b @ left @ b.T) ** 2
        root = np.sqrt(grid.neuron_weights) * solution.tau[index]
        system = np.eye(len(root)) - root[:, None] * carried * root
        return cls(grid, k, loads, root, cho_factor(system, lower=True, check_finite=False))

    def solved(self, right: Floats) -> Floats:
        """Return S⁻¹ right."""
        scaled = (right.T * self.root).T
        return (cho_solve(self.factor, scaled, check_finite=False).T * self.root).T

    def carried(self, p0: Floats, p2: Floats, linear: Floats, mode: Floats, m: float) -> Floats:
        """Return T."""
        grid = self.grid
        total = self.neurons * self.loads @ self.solved(self.loads.T)
        for share, own in zip(grid.groups, linear, strict=True):
            total += grid.bulk * share * (grid.linear @ own @ grid.linear.T) ** 2
        for left in (p0, p2):
            for right in (p0, p2):
                total += (left @ mode @ right.T) ** 2
        return total / m


@dataclass(frozen=True)
class _Counts:
    """What exact counts of the components take off the noise of ŵ, and how they shift outputs."""

    taken: Floats
    shift: Floats
    norm: float


def _counts(
    solution: Equivalent,
    index: int,
    response: Response,
    free_a: Floats,
    output: Floats,
    exact: bool,
) -> _Counts:
    """Return the terms of exact counts: Cov ŵ is less by (1/m) Σ_c ρ_c Qe_c(Qe_c)ᵀ.

    e_c = E[φ(ŷ − y)/(1+δ) | c] is a function of the neuron's type: its modes, and what the spread of
    features in the component adds to w̄. Sampled counts have one e = Σ ρ_c e_c for all.
    """
    grid, k, m = solution.grid, solution.neurons, float(solution.samples[index])
    delta, tau = solution.delta[index], solution.tau[index]
    gamma_a = solution.matrices.mode_samples[index]
    alpha, pi, (p0, p2) = grid.mode_neurons, grid.neuron_weights, grid.modes
    kept = grid.sample_weights / (1 + delta)
    mean_weights = tau * (alpha @ (free_a.T @ ((kept * grid.label(1)) @ p0)))
    spread = 1 / tau - k * solution.ridges[index]
    total = np.maximum(kept @ grid.own, 1e-300)
    own, shares = [], []
    for part in np.unique(grid.part):
        chosen = grid.part == part
        shares.append(float(grid.sample_weights[chosen].sum()))
        residual = kept * (output - grid.label(1)) * chosen
        covariance = (kept * chosen) @ grid.own / total * spread * mean_weights
        own.append((alpha @ (residual @ p0) + covariance) / shares[-1])
    vectors, rho = np.array(own), np.array(shares)
    if not exact:
        vectors, rho = (rho @ vectors)[None], np.ones(1)
    reach = k * (vectors * (tau * pi)) @ alpha @ free_a.T  # P^A·reach is φᵀQe_c
    dressed = (vectors - reach @ gamma_a @ alpha.T) ** 2
    solved = response.solved(dressed.T)
    taken = k * (response.loads @ solved) @ rho
    taken += (reach @ p0.T).T ** 2 @ rho + (reach @ p2.T).T ** 2 @ rho
    own_reach = reach[grid.part] if exact else np.broadcast_to(reach, (len(delta), reach.shape[1]))
    return _Counts(
        taken / m,
        np.einsum("sr,sr->s", p0, own_reach) / m,
        k * k / m * float(np.sum(solved, axis=0) @ rho),
    )
