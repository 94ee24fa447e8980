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
    k, m = solution.neurons, solution.samples
    vectors, shares = _residuals(response, fit)
    if not exact:
        vectors, shares = (shares @ vectors)[:, None], np.ones(1)
    alpha = grid.mode_neurons
    weighted = vectors * (solution.tau * grid.neuron_weights)[:, None]
    reach = k * (weighted @ alpha) @ np.swapaxes(response.free_mode, -1, -2)
    dressed = vectors - reach @ solution.matrices.mode_samples @ alpha.T
    answer = response.solved(np.swapaxes(dressed**2, -1, -2))  # points × neurons × components
    error = k * response.seen(answer) @ shares
    for part in grid.modes:
        error += (part @ np.swapaxes(reach, -1, -2)) ** 2 @ shares
    own = reach[:, grid.part] if exact else reach
    return CountsTerm(
        error / m[:, None],
        np.sum(grid.modes[0] * own, axis=-1) / m[:, None],
        k * k / m * (answer.sum(axis=1) @ shares),
    )


def _residuals(response: WeightResponse, fit: Fit) -> tuple[Floats, Floats]:
    """Return e_c over neurons for every component, and the components' shares."""
    grid, kept, solution = response.grid, response.kept, response.solution
    resistance = 1 / solution.tau - solution.neurons * solution.ridges[:, None]
    spread = resistance * solution.tau * fit.pull / np.maximum(kept @ grid.own, 1e-300)
    members = grid.part == np.arange(int(grid.part.max()) + 1)[:, None]
    shares = members @ grid.sample_weights
    residual = members * (kept * (fit.output - grid.label(1)))[:, None]
    vectors = residual @ grid.modes[0] @ grid.mode_neurons.T
    vectors += ((members * kept[:, None]) @ grid.own) * spread[:, None]
    return vectors / shares[:, None], shares
