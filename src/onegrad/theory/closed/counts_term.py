"""What exact counts of the components change: batches of one composition fluctuate less.

With e_c = E[φ(ŷ − y)/(1+δ) | c] the covariance of ŵ is less by (1/m) Σ_c ρ_c Qe_c(Qe_c)ᵀ, and a
training sample's own component shifts its output by φᵀQe_c/m. e_c is a function of the neuron's
type: its modes, and what the spread of features within the component does to the mean weights.
Modes dress a function f(t): f̃ = f − αᵀΓ_AΞ_A u with u = k E_t[τ α f], and φᵀQf = P^A·Ξ_A u.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onegrad.describe.arrays import Floats
from onegrad.theory.closed.grid_stack import times, turned
from onegrad.theory.closed.response import Fit, WeightResponse


@dataclass(frozen=True)
class CountsTerm:
    """What is taken off the error of every type and off ‖ŵ‖², and the shift of outputs."""

    error: Floats  # points × samples
    shift: Floats  # points × samples
    norm: Floats  # points


def counts_term(response: WeightResponse, fit: Fit, *, exact: bool) -> CountsTerm:
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
    return CountsTerm(
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
