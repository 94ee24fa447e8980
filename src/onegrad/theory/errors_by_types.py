"""Errors by types for every number of samples and penalty, whatever the loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onegrad.calculus.losses import get_loss
from onegrad.describe.arrays import Floats
from onegrad.theory.convex_by_types import ConvexByTypes
from onegrad.theory.ridge_by_types import RidgeByTypes
from onegrad.theory.type_algebra import ReducedTypes


@dataclass(frozen=True)
class TypeErrors:
    """Predicted metrics by name, each (samples × penalties)."""

    arrays: dict[str, Floats]

    def metrics(self) -> dict[str, Floats]:
        """Return the metrics by the names that simulated ones have."""
        return self.arrays


def errors_by_types(
    reduced: ReducedTypes, *, samples: Sequence[int], ridges: Sequence[float], loss: str
) -> TypeErrors:
    """Return the errors for every m (rows) and λ (columns): one reduction serves all."""
    rows = [[_solved(reduced, m, ridge, loss) for ridge in ridges] for m in samples]
    names = rows[0][0]
    return TypeErrors(
        {name: np.array([[point[name] for point in row] for row in rows]) for name in names}
    )


def _solved(reduced: ReducedTypes, samples: int, ridge: float, loss: str) -> dict[str, float]:
    if loss == "square":
        return RidgeByTypes(reduced, samples, ridge).errors()
    return ConvexByTypes(reduced, samples, ridge, loss=get_loss(loss)).errors()
