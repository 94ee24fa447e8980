"""The span of spikes and means of a described mixture, without drawing it.

Given arrays have the coordinates that they have. Random directions are new axes: in many dimensions
they are orthogonal to all others. What their small overlaps do to ‖Σ‖ is averaged apart.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from onegrad.data.mixture_source import Component, MixtureSource
from onegrad.describe.arrays import Array, Floats
from onegrad.describe.exceptions import InvalidInput

MOST_AXES = 40
NEGLIGIBLE = 1e-10
OVERLAP_DRAWS = 128


@dataclass(frozen=True)
class SpikeSpan:
    """Coordinates of every component's spikes and mean; the first `spikes` axes span the spikes."""

    components: tuple[Component, ...]  # of positive weight
    strengths: tuple[Floats, ...]
    directions: tuple[Floats, ...]  # axes × rank
    means: tuple[Floats, ...]
    spikes: int  # axes that spikes span
    given: Floats  # n × axes; zero columns for random axes
    independent: bool  # whether components draw their spikes independently

    @property
    def size(self) -> int:
        """The number of axes."""
        return self.given.shape[1]

    @property
    def level(self) -> float:
        """Σ_c ρ_c l_c."""
        return float(sum(c.weight * c.level for c in self.components))

    def covariance(self, index: int) -> Floats:
        """Return the covariance of one component in the span."""
        own = self.directions[index]
        level = self.components[index].level
        return level * np.eye(self.size) + (own * self.strengths[index]) @ own.T

    @property
    def trace_of_spikes(self) -> float:
        """Σ_c ρ_c Σ_i θ_{c,i}."""
        return float(
            sum(c.weight * s.sum() for c, s in zip(self.components, self.strengths, strict=True))
        )

    @property
    def norm(self) -> float:
        """‖Σ‖ with random directions orthogonal to all others."""
        total = sum(c.weight * self.covariance(i) for i, c in enumerate(self.components))
        return max(float(np.linalg.eigvalsh(total)[-1]), self.level) if self.size else self.level

    @property
    def spike_sum(self) -> Floats:
        """Σ_{c,i} γ_{c,i}."""
        return np.asarray(np.sum([own.sum(axis=1) for own in self.directions], axis=0))


def spike_span(source: MixtureSource, dimension: int, strengths: tuple[Floats, ...]) -> SpikeSpan:
    """Return the span; `strengths` are those of the components of positive weight."""
    parts = tuple(c for c in source.components if c.weight > 0)
    first = source.components[0]
    arrays = [c.directions.values for c in parts if isinstance(c.directions, Array)]
    given = _basis(np.column_stack([np.zeros((dimension, 0)), *arrays]))
    axes = _Axes(given.shape[1])
    directions = []
    reference: list[dict[int, float]] = []
    for c in source.components:
        refers = c is first and source.alignment is not None
        if c.weight == 0 and not refers:
            continue  # axes that nobody uses would cost nodes and bulk dimensions
        if isinstance(c.directions, Array):
            columns = [dict(enumerate(row)) for row in (given.T @ c.directions.values).T]
        else:
            aligned = source.alignment if c is not first else None
            columns = _random_columns(axes, c.rank, reference, aligned)
        if c is first:
            reference = columns
        if c.weight > 0:
            directions.append(columns)
    spikes = axes.count
    means, own = _means(parts, given, axes)
    whole = np.zeros((dimension if given.size or own.size else 0, axes.count))
    if whole.size:
        whole[:, : given.shape[1]] = given
        whole[:, spikes : spikes + own.shape[1]] = own
    if axes.count > MOST_AXES:
        raise InvalidInput(
            f"method='closed': spikes and means span {axes.count} directions, at most {MOST_AXES} "
            "are computed; use method='types'"
        )
    randoms = sum(not isinstance(c.directions, Array) and c.rank > 0 for c in parts)
    return SpikeSpan(
        parts,
        strengths,
        tuple(_matrix(columns, axes.count) for columns in directions),
        tuple(_matrix([mean], axes.count)[:, 0] for mean in means),
        spikes,
        whole,
        source.alignment is None and randoms > 1,
    )


@dataclass
class _Axes:
    """Counts axes as they are added."""

    count: int

    def new(self) -> int:
        """Return the index of a new axis."""
        self.count += 1
        return self.count - 1


def _random_columns(
    axes: _Axes, rank: int, reference: list[dict[int, float]], cosine: float | None
) -> list[dict[int, float]]:
    """Return random spikes, with this cosine to the reference's where one is said."""
    columns: list[dict[int, float]] = []
    for i in range(rank):
        if cosine is None or i >= len(reference):
            columns.append({axes.new(): 1.0})
            continue
        column = {axis: cosine * value for axis, value in reference[i].items()}
        rest = np.sqrt(max(1 - cosine**2, 0.0))
        if rest > 1e-6:
            column[axes.new()] = float(rest)
        columns.append(column)
    return columns


def _means(
    parts: tuple[Component, ...], given: Floats, axes: _Axes
) -> tuple[list[dict[int, float]], Floats]:
    """Return the means' coordinates, and new orthonormal columns that they span."""
    arrays = [c.mean.values for c in parts if isinstance(c.mean, Array)]
    left = [array - given @ (given.T @ array) for array in arrays]
    own = _basis(np.column_stack(left)) if left else np.zeros((given.shape[0], 0))
    start = axes.count
    axes.count += own.shape[1]
    shared = axes.new() if any(isinstance(c.mean, float) and c.mean for c in parts) else None
    means: list[dict[int, float]] = []
    for c in parts:
        if isinstance(c.mean, Array):
            mean = dict(enumerate(given.T @ c.mean.values))
            mean.update({start + i: float(v) for i, v in enumerate(own.T @ c.mean.values)})
        elif c.mean and shared is not None:
            mean = {shared: float(c.mean)}
        else:
            mean = {}
        means.append(mean)
    return means, own


def _basis(columns: Floats) -> Floats:
    """Return orthonormal columns with the same span."""
    if columns.size == 0:
        return np.zeros((columns.shape[0], 0))
    left, values, _ = np.linalg.svd(columns, full_matrices=False)
    return left[:, values > NEGLIGIBLE * max(values[0], 1e-300)]


def _matrix(columns: list[dict[int, float]], size: int) -> Floats:
    out = np.zeros((size, len(columns)))
    for j, column in enumerate(columns):
        for axis, value in column.items():
            out[axis, j] = value
    return out


def overlap_factor(span: SpikeSpan, dimension: int, *, along_spikes: bool) -> float:
    """Return what overlaps of independent spikes do to |ξ| = 1/√‖Σ‖, in the mean of its square.

    γ's of different components overlap by N(0, 1/n), which raises ‖Σ‖ by about 1 + E|overlap|.
    With ξ along the spikes it is the variance of ξᵀx that is averaged.
    """
    if not span.independent:
        return 1.0
    roots = tuple(
        sorted(  # so that the order of components does not decide which draws they meet
            tuple(sorted(float(v) for v in np.sqrt(c.weight * s)))
            for c, s in zip(span.components, span.strengths, strict=True)
        )
    )
    return _overlap_factor(roots, span.level, dimension, along_spikes)


@functools.lru_cache(maxsize=1024)
def _overlap_factor(
    roots: tuple[tuple[float, ...], ...], level: float, dimension: int, along_spikes: bool
) -> float:
    root = np.array([value for part in roots for value in part])
    if len(root) < 2 or root.max() == 0:
        return 1.0
    overlaps = np.triu(_normals(len(root)), 1) / np.sqrt(dimension)
    start = 0
    for part in roots:
        overlaps[:, start : start + len(part), start : start + len(part)] = 0.0
        start += len(part)
    gram = np.eye(len(root)) + overlaps + overlaps.transpose(0, 2, 1)
    norms = level + np.linalg.eigvalsh(root[:, None] * gram * root)[:, -1]
    plain = level + float(root.max()) ** 2
    if not along_spikes:
        return float(np.sqrt(np.mean(plain / norms)))
    seen = gram.sum(axis=2)  # γ_jᵀ Σγ
    variance = level + (seen**2 * root**2).sum(axis=1) / seen.sum(axis=1)
    start_variance = level + float((root**2).sum()) / len(root)
    return float(np.sqrt(np.mean(variance / norms) * plain / start_variance))


@functools.cache
def _normals(size: int) -> Floats:
    """Return fixed normal matrices and their negatives."""
    draws = np.random.default_rng(0).standard_normal((OVERLAP_DRAWS, size, size))
    return np.concatenate([draws, -draws])
