"""Grids of several points side by side, so that one array operation serves all of them.

The points of a curve have one grid where only samples and penalties change, and one each where the
step changes. Every array has an axis of grids first: of length 1, or one grid for each point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from onegrad.describe.arrays import Floats, Ints
from onegrad.theory.closed.feature_grid import FeatureGrid


@dataclass(frozen=True)
class GridStack:
    """Feature grids of one shape; ranks and groups that some of them lack are zeros there."""

    neurons: Floats  # k, grids
    bulk: Floats  # N, grids
    spread: Floats  # grids
    sample_weights: Floats  # p_s, grids × samples
    neuron_weights: Floats  # π_t, grids × neurons
    linear: Floats  # P, grids × samples × R
    linear_neurons: Floats  # bᵀ, grids × neurons × R
    mode_means: Floats  # P^A of a_0, grids × samples × R_A
    mode_squares: Floats  # P^A of a_2/√(2N)
    mode_neurons: Floats  # αᵀ, grids × neurons × R_A
    own: Floats  # C², grids × samples × neurons
    groups: Floats  # ν_j, grids × groups
    profile: Floats  # ϱ_j, grids × groups × neurons
    labels: Floats  # E[y^a z^b | s], grids × 5 × 3 × samples
    part: Ints  # component of each sample type, grids × samples

    @classmethod
    def of(cls, grids: Sequence[FeatureGrid], neurons: Sequence[int]) -> GridStack:
        """Return the stack of grids of one shape, with their numbers of neurons."""
        linear = max(grid.linear.shape[1] for grid in grids)
        modes = max(grid.mode_neurons.shape[1] for grid in grids)
        groups = max(len(grid.groups) for grid in grids)
        return cls(
            np.array(neurons, float),
            np.array([float(grid.bulk) for grid in grids]),
            np.array([grid.spread for grid in grids]),
            np.stack([grid.sample_weights for grid in grids]),
            np.stack([grid.neuron_weights for grid in grids]),
            _stacked([grid.linear for grid in grids], linear),
            _stacked([grid.linear_neurons for grid in grids], linear),
            _stacked([grid.modes[0] for grid in grids], modes),
            _stacked([grid.modes[1] for grid in grids], modes),
            _stacked([grid.mode_neurons for grid in grids], modes),
            np.stack([grid.own for grid in grids]),
            _stacked([grid.groups for grid in grids], groups),
            turned(_stacked([grid.profile.T for grid in grids], groups)),
            np.stack([grid.label.table for grid in grids]),
            np.stack([grid.part for grid in grids]),
        )

    @property
    def is_shared(self) -> bool:
        """Whether all points have one grid."""
        return len(self.neurons) == 1

    def label(self, power: int, place: int = 0) -> Floats:
        """Return E[y^power z^place | s], grids × samples."""
        return self.labels[:, power, place]

    def chosen(self, points: Ints | slice) -> GridStack:
        """Return the grids of some of the points."""
        if self.is_shared:
            return self
        return GridStack(*(getattr(self, field.name)[points] for field in fields(self)))


def _stacked(arrays: Sequence[Floats], columns: int) -> Floats:
    """Return the arrays on top of each other, with columns of zeros up to this number."""
    out = np.zeros((len(arrays), *arrays[0].shape[:-1], columns))
    for own, array in zip(out, arrays, strict=True):
        own[..., : array.shape[-1]] = array
    return out


def times(vectors: Floats, matrices: Floats) -> Floats:
    """Return every point's vector times its grid's matrix: one product where the grid is shared."""
    if len(matrices) == 1:
        return vectors @ matrices[0]
    return (vectors[:, None] @ matrices)[:, 0]


def turned(matrices: Floats) -> Floats:
    """Return the transposed matrices."""
    return np.swapaxes(matrices, -1, -2)
