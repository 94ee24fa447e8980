"""Ridge regression's errors from population moments: the single-type deterministic equivalent.

κ > 0 solves κ = λ + (κ/m) Tr Ω(Ω+κ)^{-1}; then

    test MSE  = [E y² − ψᵀ(Ω+κ)^{-1}ψ − κ ψᵀ(Ω+κ)^{-2}ψ] / [1 − (1/m) Tr Ω²(Ω+κ)^{-2}]
    train MSE = (λ/κ)² · test MSE
    E‖ŵ‖²    = ψᵀ(Ω+κ)^{-2}ψ + (test MSE/m) Tr Ω(Ω+κ)^{-2}
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import InvalidInput, NotConverged
from onegrad.theory.reduced_moments import ReducedMoments

TOLERANCE = 1e-12
MOST_ITERATIONS = 200


@dataclass(frozen=True)
class RidgeErrors:
    """Predicted errors, and how κ was found; every array is (samples × ridge)."""

    test_mse: Floats
    train_mse: Floats
    squared_weight_norm: Floats
    objective: Floats

    def metrics(self) -> dict[str, Floats]:
        """Return the errors by the names that simulated ones have."""
        return {
            "test_mse": self.test_mse,
            "train_mse": self.train_mse,
            "objective": self.objective,
            "squared_weight_norm": self.squared_weight_norm,
        }


def effective_ridge(moments: ReducedMoments, samples: Floats, ridge: Floats) -> tuple[Floats, int]:
    """Return κ for broadcast arrays of m and λ, and the iterations that it took.

    f(κ) = κ − λ − (κ/m) Tr Ω(Ω+κ)^{-1} rises from below zero at κ = λ; bisection in log κ brackets
    the root, Newton steps that stay inside the bracket finish.
    """
    m, lam = np.broadcast_arrays(np.asarray(samples, float), np.asarray(ridge, float))
    trace = float(moments.eigenvalues.sum()) + moments.extra * moments.level
    low, high = lam.copy(), lam + trace / m  # κ Tr Ω(Ω+κ)^{-1} ≤ Tr Ω
    kappa = np.sqrt(low) * np.sqrt(high)
    if not np.all(np.isfinite(high)):
        raise InvalidInput("ridge: overflows with these features; lower it")
    for iteration in range(1, MOST_ITERATIONS + 1):
        first, _, third = moments.traces(kappa)
        value = kappa * (1 - first / m) - lam
        slope = 1 - first / m + kappa * third / m
        low, high = np.where(value < 0, kappa, low), np.where(value < 0, high, kappa)
        newton = kappa - value / slope
        inside = (newton > low) & (newton < high)
        following = np.where(inside, newton, np.sqrt(low) * np.sqrt(high))
        change = np.max(np.abs(following / kappa - 1))
        kappa = following
        if change < TOLERANCE or np.all(high - low <= TOLERANCE * low):
            return kappa, iteration
    raise NotConverged(
        f"effective ridge: changes by {change:.1e} after {MOST_ITERATIONS} iterations; "
        "raise the ridge"
    )


def ridge_errors(moments: ReducedMoments, *, samples: Floats, ridge: Floats) -> RidgeErrors:
    """Return the errors for every m in `samples` (rows) and λ in `ridge` (columns)."""
    m, lam = np.meshgrid(np.asarray(samples, float), np.asarray(ridge, float), indexing="ij")
    kappa, _ = effective_ridge(moments, m, lam)
    _, second, third = moments.traces(kappa)
    form, squared = moments.forms(kappa)
    # Zero up to rounding where nothing is left to explain.
    bias = np.maximum(moments.label_power - form - kappa * squared, 0.0)
    test = bias / (1 - second / m)
    train = (lam / kappa) ** 2 * test
    norm = squared + test / m * third
    return RidgeErrors(test, train, norm, 0.5 * train + 0.5 * lam * norm)
