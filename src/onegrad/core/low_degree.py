"""The low-degree part of a batch's labels: estimated there, taken off, added to predictions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dsyrk

from onegrad.calculus.spectra import solve_ridge
from onegrad.core.batches import Batch
from onegrad.describe.numbers import Floats


@dataclass(frozen=True)
class LowDegree:
    """ŷ(x) = constant + slopeᵀx, the estimated low-degree part of the labels, and how it was found.

    `method`: "none", "mean", "least squares", or "moments".
    """

    method: str
    constant: float = 0.0
    slope: Floats | None = None

    @property
    def key(self) -> tuple[str, float, bytes]:
        """What distinguishes one part from another."""
        return self.method, self.constant, b"" if self.slope is None else self.slope.tobytes()

    def of(self, inputs: Floats) -> Floats | float:
        """Return the low-degree part at the inputs."""
        return self.constant if self.slope is None else self.constant + inputs @ self.slope


NOTHING = LowDegree("none")


def estimate_low_degree(
    subtract: str, blocks: Iterator[Batch], *, samples: int, dimension: int
) -> LowDegree:
    """Return the mean, or mean and linear part, of a batch's labels.

    "linear" is least squares of y on (1, x) when N ≥ 2(n + 1); below that, and as "moments", it is
    c_0 = mean y, c_1 = mean (y − c_0)x, because least squares would fit the noise too.
    """
    if subtract == "none":
        return NOTHING
    if subtract == "mean":
        return LowDegree("mean", sum(float(b.labels.sum()) for b in blocks) / samples)
    if uses_least_squares(subtract, samples, dimension):
        return _least_squares(blocks, dimension)
    right, sums = np.zeros(dimension + 1), np.zeros(dimension)
    for block in blocks:
        right += _with_one(block.inputs).T @ block.labels
        sums += block.inputs.sum(axis=0)
    mean = right / samples
    return LowDegree("moments", float(mean[0]), mean[1:] - mean[0] * sums / samples)


def uses_least_squares(subtract: str, samples: int, dimension: int) -> bool:
    """Return whether the linear part of so many labels is found by least squares on (1, x)."""
    return subtract == "linear" and samples >= 2 * (dimension + 1)


def _least_squares(blocks: Iterator[Batch], dimension: int) -> LowDegree:
    right = np.zeros(dimension + 1)
    gram = np.zeros((len(right), len(right)), order="F")  # the only matrix: summed, then factored
    for block in blocks:
        inputs = _with_one(block.inputs)
        right += inputs.T @ block.labels
        gram = dsyrk(1.0, inputs.T, beta=1.0, c=gram, lower=1, overwrite_c=1)
    solution = solve_ridge(
        gram,
        right,
        shift=0.0,
        field="training.subtract='linear'",
        remedy="raise training.samples",
    )
    return LowDegree("least squares", float(solution[0]), solution[1:])


def _with_one(inputs: Floats) -> Floats:
    return np.concatenate([np.ones((len(inputs), 1)), inputs], axis=1)
