"""Features on the grid of sample and neuron types, and their factors.

Grids of several points side by side, so that one array operation serves all of them.

The points of a curve have one grid where only samples and penalties change, and one each where the
step changes. Every array has an axis of grids first: of length 1, or one grid for each point.

Given both types a feature is σ = a_0 + a_1 ĝᵀẑ + (a_2/√(2N)) ε + C ζ, with bulk directions ĝ and ẑ,
the fluctuation ε of |ẑ|² and a remainder of its own, C² = E σ² − a_0² − a_1².
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from onegrad.calculus.expectations import HermiteExpansion, smoothed_derivatives, smoothed_square
from onegrad.calculus.function import Function, polynomial_coefficients
from onegrad.closed.label_law import LabelMoments
from onegrad.closed.nodes import SamplePoints
from onegrad.closed.step import NeuronTypes
from onegrad.describe.numbers import Floats, Ints


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


MOST_LINEAR, LEAST_LINEAR = 8, 1e-6  # factors of a_1, by share of the largest eigenvalue
MOST_MODES, LEAST_MODE = 30, 1e-9  # of a_0 and a_2
DRAFT_FACTOR = 100.0  # by which drafts leave out more
LARGE, MORE_COLUMNS, POWERS = 200, 20, 3  # rows from which a subspace is enough, and which


@dataclass(frozen=True)
class Pairs:
    """Symmetric matrices as vectors of their upper triangle."""

    size: int

    @cached_property
    def upper(self) -> tuple[Ints, Ints]:
        """Row and column of every entry."""
        return np.triu_indices(self.size)

    @cached_property
    def counts(self) -> Floats:
        """How often an entry stands in the matrix."""
        rows, columns = self.upper
        return np.where(rows == columns, 1.0, 2.0)

    @cached_property
    def places(self) -> Ints:
        """Where the entries of the whole matrix stand in the vector."""
        places = np.zeros((self.size, self.size), dtype=int)
        rows, columns = self.upper
        places[rows, columns] = places[columns, rows] = np.arange(len(rows))
        return places

    def products(self, rows: Floats) -> Floats:
        """Return x_i x_j of every row, … × pairs."""
        i, j = self.upper
        return rows[..., i] * rows[..., j]

    def matrix(self, vectors: Floats) -> Floats:
        """Return the matrices of vectors, … × size × size."""
        return vectors[..., self.places]

    def form(self, matrices: Floats) -> Floats:
        """Return the vectors v with vᵀ products(x) = xᵀ matrix x."""
        i, j = self.upper
        return matrices[..., i, j] * self.counts


@dataclass(frozen=True)
class FeatureGrid:
    """All that the equivalent needs: weights, factors, remainders and the label's moments."""

    sample_weights: Floats  # p_s
    neuron_weights: Floats  # π_t
    linear: Floats  # P, samples × R, with a_1 = P b
    linear_neurons: Floats  # bᵀ, neurons × R
    modes: tuple[Floats, Floats]  # P^A of a_0 and of a_2/√(2N), samples × R_A
    mode_neurons: Floats  # αᵀ, neurons × R_A
    own: Floats  # C², samples × neurons
    bulk: int  # N
    groups: Floats  # ν_j
    profile: Floats  # ϱ_j, groups × neurons
    label: LabelMoments
    part: Ints  # component of each sample type
    spread: float  # of the features' power over sample and neuron types


def feature_grid(
    samples: SamplePoints,
    types: NeuronTypes,
    label: LabelMoments,
    sigma: Function | HermiteExpansion,
    *,
    draft: bool = False,
) -> FeatureGrid:
    """Return the grid of one model: the network's σ, or a Hermite polynomial with its noise."""
    frame = types.frame
    means = samples.points @ types.loads.T
    deviations = np.sqrt(samples.level)[:, None] * types.lengths
    a0, a1, a2, square = _coefficients(sigma, means, deviations)
    p, pi = samples.weights, types.weights
    coarser = DRAFT_FACTOR if draft else 1.0
    linear, linear_neurons = factors(a1, p, pi, coarser * LEAST_LINEAR, MOST_LINEAR)
    both = np.concatenate([a0, a2 / np.sqrt(2 * frame.bulk)])
    modes, mode_neurons = factors(
        both, np.concatenate([p, p]), pi, coarser * LEAST_MODE, MOST_MODES
    )
    return FeatureGrid(
        p,
        pi,
        linear,
        linear_neurons,
        (modes[: len(p)], modes[len(p) :]),
        mode_neurons,
        np.maximum(square - a0**2 - a1**2, 0.0),
        frame.bulk,
        types.groups,
        types.profile,
        label,
        samples.part,
        _spread(square, p, pi),
    )


def _spread(power: Floats, rows: Floats, columns: Floats) -> float:
    """Return the larger coefficient of variation of E σ² over samples or neurons."""
    by_row, by_column = power @ columns, rows @ power
    mean = float(rows @ by_row)
    ratios = (
        float(weights @ (values / mean - 1) ** 2)
        for weights, values in ((rows, by_row), (columns, by_column))
    )
    return float(np.sqrt(max(ratios))) if mean > 0 else 0.0


def _coefficients(
    sigma: Function | HermiteExpansion, means: Floats, deviations: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return a_0, a_1, a_2 = E[σ H_2] and E σ²."""
    if isinstance(sigma, HermiteExpansion):
        values = polynomial_coefficients(sigma.powers, means, deviations, sigma.degree)
        square = np.sum(values**2, axis=0) + sigma.noise_variance
        none = np.zeros_like(means)
        first = values[1] if sigma.degree >= 1 else none
        second = np.sqrt(2) * values[2] if sigma.degree >= 2 else none
        return values[0], first, second, square
    smooth = smoothed_derivatives(sigma, means, deviations, 2)
    square = smoothed_square(sigma, means, deviations)
    return smooth[0], deviations * smooth[1], deviations**2 * smooth[2], square


def factors(
    matrix: Floats, rows: Floats, columns: Floats, least: float, most: int
) -> tuple[Floats, Floats]:
    """Return U and V with matrix ≈ UVᵀ, by the eigenvectors of the smaller weighted Gram matrix."""
    left, right = np.sqrt(rows)[:, None], np.sqrt(columns)
    weighted = left * matrix * right
    tall = matrix.shape[0] > matrix.shape[1]
    values, vectors = _leading(weighted.T if tall else weighted, most)
    count = min(most, max(1, int(np.sum(values > least * values[-1]))))
    kept = vectors[:, ::-1][:, :count]
    if tall:
        return weighted @ kept / left, kept / right[:, None]
    return kept / left, (weighted.T @ kept) / right[:, None]


def _leading(wide: Floats, most: int) -> tuple[Floats, Floats]:
    """Return at least `most` of the largest eigenvalues of wide·wideᵀ, ascending, and vectors.

    Of a large matrix by a subspace that fixed random columns span after a few products (Halko et
    al. 2011): eigenvalues fall so fast that errors change by 1e−6 of themselves.
    """
    size = len(wide)
    if size <= LARGE:
        return np.linalg.eigh(wide @ wide.T)
    start = np.random.default_rng(0).standard_normal((size, most + MORE_COLUMNS))
    basis, _ = np.linalg.qr(start)
    for _ in range(POWERS):
        basis, _ = np.linalg.qr(wide @ (wide.T @ basis))
    inner = wide.T @ basis
    values, turn = np.linalg.eigh(inner.T @ inner)
    return values, basis @ turn
