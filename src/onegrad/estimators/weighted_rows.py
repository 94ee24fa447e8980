"""Rows that were given with their weights: prepared, parted, and what steps and readouts read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onegrad.describe.arrays import Floats
from onegrad.training.convex_readout import fit_convex
from onegrad.training.layers import Layers
from onegrad.training.readout import fit_outputs
from onegrad.training.step import STEP_ROWS, step_preactivations


@dataclass(frozen=True)
class WeightedRows:
    """Prepared inputs (m × n), targets (m × outputs) and weights s > 0, one per row."""

    inputs: Floats
    targets: Floats
    weights: Floats

    def taken(self, places: NDArray[np.intp]) -> WeightedRows:
        """Return the rows at these places."""
        return WeightedRows(self.inputs[places], self.targets[places], self.weights[places])

    @property
    def total(self) -> float:
        """Σs, as many rows as these stand for."""
        return float(self.weights.sum())

    def step_blocks(self, layers: Layers, output: int) -> Iterator[tuple[Floats, Floats, Floats]]:
        """Yield (XFᵀ, sX, y) in blocks, of which `streamed_direction` makes G.

        The weight stands at the factor X outside σ', so that the sum over rows is Σ s_i r_i σ' x_i.
        """
        starts = range(0, len(self.inputs), STEP_ROWS)
        known = step_preactivations(layers.first, self.inputs)
        for start, block in zip(starts, known, strict=True):
            rows = slice(start, start + STEP_ROWS)
            weighted = self.weights[rows, None] * self.inputs[rows]
            yield block, weighted, self.targets[rows, output]

    def rule_blocks(self) -> Iterator[Floats]:
        """Yield the inputs that update rules read: those whose mean square is the weighted one."""
        roots = np.sqrt(self.weights * (len(self.weights) / self.total))
        for start in range(0, len(self.inputs), STEP_ROWS):
            rows = slice(start, start + STEP_ROWS)
            yield roots[rows, None] * self.inputs[rows]


@dataclass(frozen=True)
class InputFrame:
    """x = scale (row − centre): one centre and one scale, so that E‖x‖² is the trace asked for.

    With a bias b ≠ 0 every x gets one more coordinate, b times the deviation of the others.
    """

    centre: Floats
    scale: float
    constant: float = 0.0

    @classmethod
    def of(
        cls, inputs: Floats, weights: Floats, *, centre: Floats, trace: float, bias: float = 0.0
    ) -> InputFrame:
        """Return the frame in which Σ s‖x‖²/Σs = trace; scale 1 where all rows are equal.

        The constant coordinate of a bias b is not counted, and is b√(trace/n).
        """
        squares = np.sum((inputs - centre) ** 2, axis=1)
        mean = float(weights @ squares) / float(weights.sum())
        scale = float(np.sqrt(trace / mean)) if 0 < mean < np.inf else 1.0
        return cls(centre, scale, bias * float(np.sqrt(trace / inputs.shape[1])))

    def prepared(self, inputs: Floats) -> Floats:
        """Return the rows in this frame."""
        rows: Floats = self.scale * (inputs - self.centre)
        if not self.constant:
            return rows
        return np.concatenate([rows, np.full((len(rows), 1), self.constant)], axis=1)


def weighted_mean(values: Floats, weights: Floats) -> Floats:
    """Return Σ s_i v_i/Σs over rows."""
    return np.asarray(weights @ values / weights.sum())


def fit_weighted(rows: WeightedRows, features: Floats, *, loss: str, ridge: float) -> Floats:
    """Return ŵ = argmin (1/Σs) Σ_i s_i ℓ(y_i, wᵀφ_i/√k) + (λ/2)‖w‖², a column per output.

    The square loss is that of rows multiplied by √s, whose number m is not Σs: hence λΣs/m.
    """
    equal = bool(np.all(rows.weights == 1))
    if loss == "square":
        if not equal:
            roots = np.sqrt(rows.weights)[:, None]
            rows = WeightedRows(rows.inputs, roots * rows.targets, rows.weights)
            features, ridge = roots * features, ridge * rows.total / len(features)
        fits = fit_outputs(features, rows.targets, ridge=ridge)
        return np.concatenate([fit.weights for fit in fits], axis=1)
    weights = None if equal else rows.weights
    columns = [
        fit_convex(features, column, loss=loss, ridge=ridge, sample_weights=weights).weights
        for column in rows.targets.T
    ]
    return np.concatenate(columns, axis=1)


def parted(
    groups: NDArray[np.intp], share: float, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the places of `share` of the rows of every group, at random, and of all others.

    A group of one row goes to the others; two or more have a row in both.
    """
    steps, others = [], []
    for group in np.unique(groups):
        places = rng.permutation(np.flatnonzero(groups == group))
        cut = min(max(round(share * len(places)), 1), len(places) - 1)
        steps.append(places[:cut])
        others.append(places[cut:])
    return np.sort(np.concatenate(steps)), np.sort(np.concatenate(others))
