"""The second layer by ridge regression, in the primal or the dual by the smaller side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs

from onegrad.arrays import Floats
from onegrad.validation import InvalidInput


@dataclass(frozen=True)
class Readout:
    """Readout weights ŵ (k × penalties) with what training says about them, one per penalty."""

    ridge: Floats
    weights: Floats
    train_mse: Floats

    @property
    def squared_norm(self) -> Floats:
        """‖ŵ‖²."""
        return np.sum(self.weights**2, axis=0)

    @property
    def objective(self) -> Floats:
        """½ train MSE + (λ/2)‖ŵ‖², the published plots' "training error"."""
        return 0.5 * self.train_mse + 0.5 * self.ridge * self.squared_norm


def fit_readout(features: Floats, labels: Floats, *, ridge: float | Sequence[float]) -> Readout:
    """Return ŵ = argmin (1/2m) Σ_i (y_i − wᵀφ_i/√k)² + (λ/2)‖w‖² for each penalty λ.

    `features` φ is (m × k). One Gram matrix of the smaller side and one factorisation serve all
    penalties: Cholesky for one, an eigendecomposition for several. Gram and solve are in float64.
    """
    m, k = features.shape
    penalties = np.atleast_1d(np.asarray(ridge, dtype=float))
    phi = np.ascontiguousarray(features, dtype=np.float64)
    y = np.asarray(labels, dtype=np.float64)
    dual = k > m
    # φφᵀ (dual) or φᵀφ (primal), lower triangle; φ.T is φ in Fortran order, so nothing is copied.
    gram = dsyrk(1.0, phi.T, trans=1 if dual else 0, lower=1)
    if not np.all(np.isfinite(np.diagonal(gram))):
        raise InvalidInput(
            "features: some are not finite; bring learning rate, spread, levels, means and norms "
            "nearer to 1, or correct the activation"
        )
    right = y if dual else phi.T @ y
    shifts = penalties * m * k
    if len(shifts) == 1:
        solution = _solve_one(gram, shifts[0], right, penalties[0])
    else:
        solution = _solve_many(gram, shifts, right)
    weights = np.sqrt(k) * (phi.T @ solution if dual else solution)
    # In the dual (φφᵀ + shift) α = y, so that the residual y − φφᵀα is shift·α.
    residual = shifts * solution if dual else y[:, None] - phi @ solution
    return Readout(penalties, weights, np.mean(residual**2, axis=0))


def _solve_one(gram: Floats, shift: float, right: Floats, ridge: float) -> Floats:
    gram[np.diag_indices_from(gram)] += shift
    factor, info = dpotrf(gram, lower=1, clean=0, overwrite_a=1)
    if info != 0:
        raise InvalidInput(
            f"ridge={ridge:.3g}: too small beside features of this size, the Gram matrix is "
            "singular to rounding; raise the ridge"
        )
    solution, _ = dpotrs(factor, right, lower=1)
    return np.asarray(solution)[:, None]


def _solve_many(gram: Floats, shifts: Floats, right: Floats) -> Floats:
    values, vectors = eigh(gram, lower=True, overwrite_a=True, check_finite=False)
    values = np.maximum(values, 0.0)  # a Gram matrix: below zero is rounding
    coordinates = vectors.T @ right
    return vectors @ (coordinates[:, None] / (values[:, None] + shifts))
