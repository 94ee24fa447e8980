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
    labels: Floats  # Σ φ y
    label_squares: float = 0.0
    count: int = 0

    @classmethod
    def empty(cls, width: int) -> FeatureSums:
        """Return sums over nothing."""
        return cls(np.zeros((width, width), order="F"), np.zeros(width), np.zeros(width))

    def add(self, phi: Floats, labels: Floats) -> None:
        """Add a block of features (rows × k) and labels."""
        wide = np.ascontiguousarray(phi, dtype=np.float64)
        self.gram = dsyrk(1.0, wide.T, beta=1.0, c=self.gram, lower=1, overwrite_c=1)
        self.features += wide.sum(axis=0)
        self.labels += wide.T @ labels
        self.label_squares += float(labels @ labels)
        self.count += len(labels)


def fit_from_sums(sums: FeatureSums, *, ridge: float | Sequence[float]) -> FittedReadout:
    """Return what `fit_readout` would of the whole batch: (Σφφᵀ + λmk) u = Σφy, ŵ = √k u."""
    width = len(sums.labels)
    penalties = np.atleast_1d(np.asarray(ridge, dtype=float))
    shifts = penalties * sums.count * width
    solution = solve_gram(sums.gram.copy(order="F"), shifts, sums.labels, penalties)
    # Σ(y − uᵀφ)² = Σy² − uᵀΣφy − (shift)‖u‖² at the minimum.
    explained = sums.labels @ solution + shifts * np.sum(solution**2, axis=0)
    squares = np.maximum(sums.label_squares - explained, 0.0)
    return FittedReadout(penalties, np.sqrt(width) * solution, squares / sums.count)
