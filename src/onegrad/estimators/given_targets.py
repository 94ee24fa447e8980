"""Targets as steps and readouts read them: signs of classes, numbers of mean 0 and deviation 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import InvalidInput
from onegrad.estimators.weighted_rows import weighted_mean


def class_signs(codes: NDArray[np.intp], classes: int) -> Floats:
    """Return ±1: a column for the second of two classes, else one per class against the rest."""
    columns = [1] if classes == 2 else range(classes)
    return np.where(codes[:, None] == np.asarray(columns), 1.0, -1.0)


def class_midpoint(inputs: Floats, codes: NDArray[np.intp], weights: Floats) -> Floats:
    """Return the mean of the classes' means, so that their shares do not move the origin."""
    means = [weighted_mean(inputs[codes == c], weights[codes == c]) for c in np.unique(codes)]
    return np.mean(means, axis=0)


@dataclass(frozen=True)
class NumberFrame:
    """Mean and deviation of every column of numbers; deviation 1 where all are equal."""

    mean: Floats
    deviation: Floats

    @classmethod
    def of(cls, numbers: Floats, weights: Floats) -> NumberFrame:
        """Return the frame of these numbers (rows × columns).

        Squares are taken in units of a power of two, so that no size overflows or vanishes and no
        bit depends on it.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            mean = weighted_mean(numbers, weights)
            apart = numbers - mean
        if not np.all(np.isfinite(apart)):
            raise InvalidInput("y: its mean and deviation overflow; divide it by a power of ten")
        unit = np.exp2(np.frexp(np.abs(apart).max(axis=0))[1] - 1.0)
        deviation = unit * np.sqrt(weighted_mean((apart / unit) ** 2, weights))
        return cls(mean, np.where(deviation > 0, deviation, 1.0))

    def prepared(self, numbers: Floats) -> Floats:
        """Return the numbers with mean 0 and deviation 1."""
        return (numbers - self.mean) / self.deviation
