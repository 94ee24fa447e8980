"""The errors at all points (m, λ) of a curve, by type of sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from onegrad.describe.arrays import Floats
from onegrad.theory.closed.counts_term import counts_term
from onegrad.theory.closed.equivalent import Equivalent
from onegrad.theory.closed.grid_stack import GridStack
from onegrad.theory.closed.response import Fit, WeightResponse


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

    @classmethod
    def joined(cls, parts: Sequence[PointErrors]) -> PointErrors:
        """Return the errors at the points of all parts, which share one grid."""
        names = [field.name for field in fields(cls)[1:]]
        values = (np.concatenate([getattr(part, name) for part in parts]) for name in names)
        return cls(parts[0].grid, *values)

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
    counts = counts_term(response, fit, exact=exact_counts)
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
