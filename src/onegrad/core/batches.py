"""Batches of an instance: drawn whole, or in blocks that are never in memory together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from onegrad.core.streams import Stream
from onegrad.data.joint_teachers import LARGEST_LABEL
from onegrad.data.source import RowLabels
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import Floats, Ints, Normals

if TYPE_CHECKING:
    from onegrad.core.instance import Instance

# Wraps a stream's generator in a source that saves its normals for the next problem.
Keep = Callable[[np.random.Generator, Stream], Normals]

BLOCK_ROWS = 1024  # rows per block; fixed, so that sums have one order
HELD_BYTES = 2.0**28  # what is larger is drawn in blocks


@dataclass(frozen=True)
class Batch:
    """Inputs (samples × n), labels, and how many rows each component has, one after the other."""

    inputs: Floats
    labels: Floats
    counts: tuple[int, ...]

    def components(self) -> Iterator[tuple[int, slice]]:
        """Yield (component, its rows) for the components that have rows."""
        start = 0
        for index, count in enumerate(self.counts):
            if count:
                yield index, slice(start, start + count)
            start += count

    def rows(self) -> Iterator[tuple[Floats, Floats]]:
        """Yield (inputs, labels) in blocks of BLOCK_ROWS rows."""
        for start in range(0, len(self.inputs), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            yield self.inputs[rows], self.labels[rows]


@dataclass(frozen=True)
class BatchDraw:
    """Which batch of an instance: it is drawn as often as asked, with the same rows.

    `names` distinguish batches of one stream; `earlier` are the sizes of the batches before it,
    whose rows a finite population does not give again.
    """

    instance: Instance
    stream: Stream
    size: int
    earlier: tuple[int, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def held(self) -> bool:
        """Whether the inputs are few enough to be drawn whole."""
        return 8.0 * self.size * self.instance.problem.dimension <= HELD_BYTES

    def whole(self, keep: Keep | None = None) -> Batch:
        """Return all rows; `keep` may hold their normals for other problems."""
        population, streams = self.instance.population, self.instance.streams
        rng = streams.generator(self.stream, *self.names)
        counts = population.draw_counts(self.size, rng)
        normals: Normals = rng
        # Sampled counts move the generator: what follows is then not the same for others.
        if keep is not None and population.counts == "exact":
            normals = keep(rng, self.stream)
        inputs = population.sample(counts, normals, self.earlier)
        return self._labelled(inputs, counts, self._label_rng(), np.zeros(len(counts), int))

    def granules(self) -> Iterator[Batch]:
        """Yield the rows in blocks of at most GRANULE rows, each from one component."""
        population, noise = self.instance.population, self._label_rng()
        rng = self.instance.streams.generator(self.stream, *self.names)
        counts = population.draw_counts(self.size, rng)
        before = np.zeros(len(counts), dtype=int)
        for index, block in population.blocks(counts, rng, self.earlier):
            rows = tuple(len(block) if i == index else 0 for i in range(len(counts)))
            yield self._labelled(block, rows, noise, before)
            before[index] += len(block)

    def blocks(self) -> Iterator[Batch]:
        """Yield the rows in blocks of BLOCK_ROWS, across components."""
        population, noise = self.instance.population, self._label_rng()
        rng = self.instance.streams.generator(self.stream, *self.names)
        counts = population.draw_counts(self.size, rng)
        inputs = np.empty((min(BLOCK_ROWS, self.size), population.dimension))
        filled, rows = 0, np.zeros(len(counts), dtype=int)
        before = np.zeros_like(rows)
        for index, granule in population.blocks(counts, rng, self.earlier):
            start = 0
            while start < len(granule):
                taken = min(len(granule) - start, BLOCK_ROWS - filled)
                inputs[filled : filled + taken] = granule[start : start + taken]
                rows[index] += taken
                filled, start = filled + taken, start + taken
                if filled == BLOCK_ROWS:
                    yield self._labelled(inputs.copy(), _whole_numbers(rows), noise, before)
                    before += rows
                    filled, rows = 0, np.zeros_like(rows)
        if filled:
            yield self._labelled(inputs[:filled].copy(), _whole_numbers(rows), noise, before)

    def rows(self) -> Iterator[tuple[Floats, Floats]]:
        """Yield (inputs, labels) in blocks of BLOCK_ROWS rows, which are drawn again every time."""
        for block in self.blocks():
            yield block.inputs, block.labels

    def _label_rng(self) -> np.random.Generator:
        return self.instance.streams.generator(self.stream, *self.names, "labels")

    def _labelled(
        self, inputs: Floats, counts: tuple[int, ...], rng: np.random.Generator, before: Ints
    ) -> Batch:
        """Return a batch with its labels; `before` are the rows of each component before it."""
        labels = self._row_labels(inputs, counts, rng, before)
        if labels is None:
            teacher = self.instance.teacher
            projections = inputs @ teacher.directions
            unlabelled = Batch(inputs, projections, counts)
            parts = [
                teacher.labels(projections[rows], index, rng)
                for index, rows in unlabelled.components()
            ]
            labels = np.concatenate(parts)
        self._require_finite(labels)
        return Batch(inputs.astype(self.instance.dtype, copy=False), labels, counts)

    def _row_labels(
        self, inputs: Floats, counts: tuple[int, ...], rng: np.random.Generator, before: Ints
    ) -> Floats | None:
        """Return the rows' own numbers y, where they have them and the teacher reads labels."""
        population, teacher = self.instance.population, self.instance.problem.teacher
        if not (teacher.reads_labels and isinstance(population, RowLabels)):
            return None
        parts = [
            population.row_labels(part, int(before[part]), count, self.earlier)
            for part, count in enumerate(counts)
            if count
        ]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        labels: Floats = np.concatenate(known) - self.instance.subtracted.of(inputs)
        noise = teacher.label_noise
        return labels + noise * rng.standard_normal(len(labels)) if noise else labels

    def _require_finite(self, labels: Floats) -> None:
        wrong = labels[~(np.abs(labels) <= LARGEST_LABEL)]  # also refuses nan
        if len(wrong):
            named = ", ".join(self.instance.problem.teacher.functions)
            raise InvalidInput(
                f"teacher={named!r}: a label is {wrong[0]:.3g}, must be finite and at most "
                f"{LARGEST_LABEL:g}; change the links, or lower the spread"
            )


def _whole_numbers(rows: np.typing.NDArray[np.integer]) -> tuple[int, ...]:
    return tuple(int(count) for count in rows)
