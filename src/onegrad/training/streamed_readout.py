"""Ridge regression from sums over a batch that is never held: O(k²) whatever the samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dsyrk

from onegrad.describe.arrays import Floats
from onegrad.training.readout import FittedReadout, solve_gram


@dataclass
class FeatureSums:
    """Sums over a batch: φφᵀ (lower half), φ, φy, y² and the count."""

    gram: Floats
    features: Floats
    labels: Floats  # Σ φ y, one column per output where there are several
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


def fit_from_sums(sums: FeatureSums, *, ridge: float | Sequence[float]) -> FittedReadout:
    """Return what `fit_readout` would of the whole batch: (Σφφᵀ + λmk) u = Σφy, ŵ = √k u."""
    return outputs_from_sums(sums, ridge=ridge)[0]


def outputs_from_sums(
    sums: FeatureSums, *, ridge: float | Sequence[float]
) -> tuple[FittedReadout, ...]:
    """Return one readout per column of labels, from one factorisation."""
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
