"""The second layer by ridge regression, in the primal or the dual by the smaller side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.blas import dsyrk, ssyrk, strsv
from scipy.linalg.lapack import spotrf

from onegrad.calculus.spectra import solve_ridge
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import Floats, shown

# Refinement ends when the next change would be this small beside the solution. A round that gains
# less than a factor of ten means that double precision should factor instead.
LAST_CHANGE, LEAST_GAIN = 1e-8, 0.1


@dataclass(frozen=True)
class FittedReadout:
    """Readout weights ŵ (k × penalties) with their training metrics, one per penalty.

    `train_misclassification` is the share of samples with y·output < 0. It is None if labels are
    not ±1, or if the features were not in memory together.
    """

    ridge: Floats
    weights: Floats
    train_mse: Floats
    train_misclassification: Floats | None = None

    def metrics(self) -> dict[str, Floats]:
        """Return the training metrics by name."""
        rate = self.train_misclassification
        return {
            "train_mse": self.train_mse,
            "objective": self.objective,
            "squared_weight_norm": self.squared_norm,
            **({} if rate is None else {"train_misclassification": rate}),
        }

    @property
    def squared_norm(self) -> Floats:
        """‖ŵ‖²."""
        return np.sum(self.weights**2, axis=0)

    @property
    def objective(self) -> Floats:
        """½ train MSE + (λ/2)‖ŵ‖², the published plots' "training error"."""
        return 0.5 * self.train_mse + 0.5 * self.ridge * self.squared_norm


def ridge_readout(
    features: Floats, labels: Floats, *, ridge: float | Sequence[float]
) -> FittedReadout:
    """Return ŵ = argmin (1/2m) Σ_i (y_i − wᵀφ_i/√k)² + (λ/2)‖w‖² for each penalty λ.

    `features` φ is (m × k). One Gram matrix of the smaller side and one factorisation serve all
    penalties: Cholesky for one, an eigendecomposition for several. They are in float64, except for
    features in single precision with one penalty: then a factor in single precision is enough,
    and refinement brings the solution to float64.
    """
    penalties = np.atleast_1d(np.asarray(ridge, dtype=float))
    weights, squares = _fitted(features, labels, penalties)
    return FittedReadout(penalties, weights, squares)


def ridge_readouts(
    features: Floats, labels: Floats, *, ridge: float | Sequence[float]
) -> tuple[FittedReadout, ...]:
    """Return the readout of every column of labels (m × outputs), from one factorisation.

    It is in float64 whatever the precision of the features.
    """
    penalties = np.atleast_1d(np.asarray(ridge, dtype=float))
    weights, squares = _fitted(features, labels, penalties)
    return tuple(
        FittedReadout(penalties, weights[:, j], squares[j]) for j in range(labels.shape[1])
    )


def require_finite_readouts(*readouts: FittedReadout) -> None:
    """Raise InvalidInput if weights or errors overflowed."""
    for readout in readouts:
        if not (np.all(np.isfinite(readout.weights)) and np.all(np.isfinite(readout.train_mse))):
            raise InvalidInput(
                f"ridge={shown(readout.ridge.tolist())}: the readout's weights or errors are not "
                "finite; bring features, labels and ridge nearer to 1"
            )


def _fitted(features: Floats, labels: Floats, penalties: Floats) -> tuple[Floats, Floats]:
    """Return weights and train MSE, an axis of penalties after those of the labels."""
    m, k = features.shape
    phi = np.ascontiguousarray(features, dtype=np.float64)
    y = np.asarray(labels, dtype=np.float64)
    dual = k > m
    # The Gram matrix is AAᵀ: φφᵀ (dual) or φᵀφ (primal).
    rows = phi if dual else phi.T
    right = y if dual else phi.T @ y
    shifts = penalties * m * k
    solution = None
    if len(shifts) == 1 and features.dtype == np.float32 and y.ndim == 1:
        solution = _solve_refined(features, rows, shifts[0], right)
    if solution is None:
        solution = solve_gram(_gram(phi, dsyrk), shifts, right, penalties)
    weights = np.sqrt(k) * (np.tensordot(phi.T, solution, 1) if dual else solution)
    # In the dual (φφᵀ + shift) α = y, so that the residual y − φφᵀα is shift·α.
    residual = shifts * solution if dual else y[..., None] - np.tensordot(phi, solution, 1)
    return weights, np.mean(residual**2, axis=0)


def _solve_refined(features: Floats, rows: Floats, shift: float, right: Floats) -> Floats | None:
    """Return the solution by a factor in single precision and refinement in double.

    Every round x ← x + M⁻¹(b − (AAᵀ + shift)x) divides the error by about
    1e7/(largest eigenvalue/shift). None when single precision overflows or is too coarse for that.
    """
    with np.errstate(over="ignore"):
        gram = _gram(features, ssyrk)
        np.einsum("ii->i", gram)[:] += np.float32(shift)  # a view of the diagonal
    factor, info = spotrf(gram, lower=1, clean=0, overwrite_a=1)
    if info != 0 or not np.all(np.isfinite(np.diagonal(factor))):
        return None
    solution, residual, last = np.zeros_like(right), right, np.inf
    while True:
        scale = float(np.linalg.norm(residual)) or 1.0  # so that nothing leaves single precision
        unit = strsv(factor, (residual / scale).astype(np.float32), lower=1)
        change = scale * strsv(factor, unit, lower=1, trans=1).astype(np.float64)
        size = float(np.linalg.norm(change))
        if not size <= LEAST_GAIN * last:
            return None
        solution += change
        # Errors shrink by one factor a round: what is left is about what the next would change.
        left = size if last == np.inf else size * size / last
        if left <= LAST_CHANGE * float(np.linalg.norm(solution)):
            return solution[:, None]
        residual, last = right - rows @ (rows.T @ solution) - shift * solution, size


def solve_gram(gram: Floats, shifts: Floats, right: Floats, penalties: Floats) -> Floats:
    """Return (G + shift)^{-1} right for every shift, a last axis; `gram`, the lower half, is lost.

    `right` is a vector, or has a column per output.
    """
    if not np.all(np.isfinite(np.diagonal(gram))):
        raise InvalidInput(
            "features: some are not finite; bring learning rate, spread, levels, means and norms "
            "nearer to 1, or correct the activation"
        )
    if len(shifts) == 1:
        field = f"ridge={penalties[0]:.3g}"
        one = solve_ridge(gram, right, shift=shifts[0], field=field, remedy="raise the ridge")
        return one[..., None]
    values, vectors = eigh(gram, lower=True, overwrite_a=True, check_finite=False)
    values = np.maximum(values, 0.0)  # a Gram matrix: below zero is rounding
    coordinates = vectors.T @ right
    shifted = np.expand_dims(values, tuple(range(1, right.ndim + 1))) + shifts
    return np.tensordot(vectors, coordinates[..., None] / shifted, 1)


def _gram(phi: Floats, product: Callable[..., Floats]) -> Floats:
    """Return the lower triangle of φφᵀ or φᵀφ, whichever is smaller."""
    m, k = phi.shape
    # φ.T is φ in Fortran order, so nothing is copied.
    return product(1.0, phi.T, trans=1 if k > m else 0, lower=1)


@dataclass
class FeatureSums:
    """Sums over a batch: φφᵀ (lower half), φ, φy, y² and the count."""

    gram: Floats
    features: Floats
    labels: Floats  # Σ φ y, one column per output if there are several
    label_squares: Floats | float = 0.0
    count: int = 0

    @classmethod
    def empty(cls, width: int, *outputs: int) -> FeatureSums:
        """Return sums over nothing; `outputs` is the number of columns of labels, if any."""
        gram = np.zeros((width, width), order="F")
        return cls(gram, np.zeros(width), np.zeros((width, *outputs)))

    def add(self, phi: Floats, labels: Floats) -> None:
        """Add a block of features (rows × k) and labels (rows, or rows × outputs)."""
        wide = np.ascontiguousarray(phi, dtype=np.float64)
        self.gram = dsyrk(1.0, wide.T, beta=1.0, c=self.gram, lower=1, overwrite_c=1)
        self.features += wide.sum(axis=0)
        self.labels += wide.T @ labels
        self.label_squares += labels @ labels if labels.ndim == 1 else np.sum(labels**2, axis=0)
        self.count += len(labels)


def readouts_from_sums(
    sums: FeatureSums, *, ridge: float | Sequence[float]
) -> tuple[FittedReadout, ...]:
    """Return one readout per column of labels, (Σφφᵀ + λmk) u = Σφy and ŵ = √k u.

    These are the readouts on the whole batch, from one factorisation.
    """
    width = len(sums.labels)
    penalties = np.atleast_1d(np.asarray(ridge, dtype=float))
    shifts = penalties * sums.count * width
    solution = solve_gram(sums.gram.copy(order="F"), shifts, sums.labels, penalties)
    readouts = []
    for j, power in enumerate(np.atleast_1d(sums.label_squares)):
        right, own = sums.labels.reshape(width, -1)[:, j], solution.reshape(width, -1, len(shifts))
        # Σ(y − uᵀφ)² = Σy² − uᵀΣφy − (shift)‖u‖² at the minimum.
        explained = right @ own[:, j] + shifts * np.sum(own[:, j] ** 2, axis=0)
        squares = np.maximum(power - explained, 0.0)
        readouts.append(FittedReadout(penalties, np.sqrt(width) * own[:, j], squares / sums.count))
    return tuple(readouts)
