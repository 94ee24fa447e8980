"""The errors at one point (m, λ), by type of sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onegrad.describe.arrays import Floats
from onegrad.theory.closed.counts_term import counts_term
from onegrad.theory.closed.equivalent import Equivalent
from onegrad.theory.closed.feature_grid import FeatureGrid
from onegrad.theory.closed.response import Fit, Response


@dataclass(frozen=True)
class PointErrors:
    """ε_s and all that follows from it."""

    grid: FeatureGrid
    error: Floats  # ε_s, the mean squared test error of the type
    own_error: Floats  # the same on other samples of the same training sets
    delta: Floats
    output: Floats  # M̂_s, the mean output of the type
    covariance: Floats  # ψ_s, of the output with z
    shift: Floats  # of the output on training samples, by exact counts
    norm: float  # E‖ŵ‖²
    bias: float  # Σ p e, the error without what the variance of ŵ adds

    @property
    def test_mse(self) -> float:
        """Σ p_s ε_s."""
        return float(self.grid.sample_weights @ self.error)

    @property
    def train_mse(self) -> float:
        """Σ p_s ε_s/(1 + δ_s)²."""
        return float(self.grid.sample_weights @ (self.own_error / (1 + self.delta) ** 2))


def point_errors(solution: Equivalent, index: int, *, exact_counts: bool) -> PointErrors:
    """Return the errors at one point of a solution.

    e_s = H_2 − 2H_0M̂ − 2H_1ψ + M̂² + Σ_jν_jψ_j² + k q S⁻¹ā²,  ε = (I − T diag(p/(1+δ)²))⁻¹ e
    ‖ŵ‖² = k² 1ᵀS⁻¹ā² + (k²/m) Σ p ε (q S⁻¹1)/(1+δ)²
    """
    point = Response(solution, index)
    grid, k = point.grid, point.neurons
    fit = Fit.of(point)
    h0, h1, h2 = grid.label(1), grid.label(1, 1), grid.label(2)
    own = h2 - 2 * h0 * fit.output - 2 * h1 * fit.covariance
    own += fit.output**2 + fit.second_output**2 + grid.groups @ fit.projections**2
    own += k * point.loads @ point.solved(fit.square)
    counts = counts_term(point, fit, exact=exact_counts)
    weights = grid.sample_weights / (1 + point.delta) ** 2
    system = np.eye(len(own)) - point.carried * weights
    error = np.linalg.solve(system, own - counts.error)
    flat = k * point.solved(np.full(len(fit.square), float(k)))
    norm = (
        float(flat @ fit.square) + float((weights * error) @ (point.loads @ flat)) / point.samples
    )
    return PointErrors(
        grid,
        error,
        error + 2 * (fit.output - h0) * counts.shift + counts.shift**2,
        point.delta,
        fit.output,
        fit.covariance,
        counts.shift,
        norm - counts.norm,
        float(grid.sample_weights @ own),
    )
