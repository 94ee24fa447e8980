"""Errors by types for every number of samples and penalty, whatever the loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onegrad.calculus.losses import get_loss
from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import InvalidInput
from onegrad.theory.by_types import TypeAlgebra
from onegrad.theory.convex_by_types import ConvexByTypes
from onegrad.theory.ridge_by_types import RidgeByTypes

Solution = RidgeByTypes | ConvexByTypes


@dataclass(frozen=True)
class TypeErrors:
    """Predicted metrics by name, each (samples × penalties)."""

    arrays: dict[str, Floats]

    def metrics(self) -> dict[str, Floats]:
        """Return the metrics by the names that simulated ones have."""
        return self.arrays


def solve_by_types(algebra: TypeAlgebra, samples: int, ridge: float, *, loss: str) -> Solution:
    """Return the solution of the equations for one number of samples and one penalty."""
    if loss == "square":
        return RidgeByTypes(algebra, samples, ridge)
    if not algebra.labels.one_projection:
        raise InvalidInput(
            f"readout.loss={loss!r}: theory knows labels by component or by one projection; "
            "simulate it"
        )
    return ConvexByTypes(algebra, samples, ridge, loss=get_loss(loss))


def tabulated(points: list[list[dict[str, float]]]) -> TypeErrors:
    """Return the metrics of a table of points, rows and columns as there."""
    return TypeErrors(
        {name: np.array([[at[name] for at in row] for row in points]) for name in points[0][0]}
    )
