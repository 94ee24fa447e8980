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
from onegrad.theory.closed.response import Fit, Response


@dataclass(frozen=True)
class CountsTerm:
    """What is taken off the error of every type and off ‖ŵ‖², and the shift of outputs."""

    error: Floats
    shift: Floats
    norm: float


def counts_term(point: Response, fit: Fit, *, exact: bool) -> CountsTerm:
    """Return the terms; counts that are sampled have one e = Σ_c ρ_c e_c for all components."""
    grid, k, m = point.grid, point.neurons, point.samples
    vectors, shares = _residuals(point, fit)
    if not exact:
        vectors, shares = (shares @ vectors)[None], np.ones(1)
    alpha = grid.mode_neurons
    reach = k * (vectors * (point.tau * grid.neuron_weights)) @ alpha @ point.free_mode.T
    dressed = vectors - reach @ point.mode_samples @ alpha.T
    answer = point.solved((dressed**2).T)
    error = k * (point.loads @ answer) @ shares
    for part in grid.modes:
        error += (part @ reach.T) ** 2 @ shares
    own = reach[grid.part] if exact else np.broadcast_to(reach, (len(grid.part), reach.shape[1]))
    return CountsTerm(
        error / m,
        np.einsum("sr,sr->s", grid.modes[0], own) / m,
        k * k / m * float(answer.sum(axis=0) @ shares),
    )


def _residuals(point: Response, fit: Fit) -> tuple[Floats, Floats]:
    """Return e_c over neurons for every component, and the components' shares."""
    grid, kept = point.grid, point.kept
    resistance = 1 / point.tau - point.neurons * point.solution.ridges[point.index]
    spread = resistance * point.tau * fit.pull / np.maximum(kept @ grid.own, 1e-300)
    members = grid.part == np.arange(int(grid.part.max()) + 1)[:, None]
    shares = members @ grid.sample_weights
    residual = members * (kept * (fit.output - grid.label(1)))
    vectors = residual @ grid.modes[0] @ grid.mode_neurons.T
    vectors += ((members * kept) @ grid.own) * spread
    return vectors / shares[:, None], shares
