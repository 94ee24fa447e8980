"""One drawn instance of a problem: a concrete mixture and teacher, and batches from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from onegrad.data.mixture import Mixture
from onegrad.data.population import Population
from onegrad.data.teacher import Teacher
from onegrad.describe.arrays import Floats, Normals
from onegrad.describe.checks import whole_number
from onegrad.problem.problem import Problem
from onegrad.problem.scaling import Scales, resolve_scales
from onegrad.training.streams import Stream, Streams

# Wraps a stream's generator in a source whose normals are kept for the next problem.
Keep = Callable[[np.random.Generator, Stream], Normals]


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


@dataclass(frozen=True)
class Instance:
    """A problem with everything drawn that does not belong to the network."""

    problem: Problem
    population: Population
    teacher: Teacher
    scales: Scales
    streams: Streams

    @property
    def mixture(self) -> Mixture:
        """The mixture whose moments exact errors and theory read."""
        return self.population.mixture

    @property
    def dtype(self) -> DTypeLike:
        """Type of inputs and first layer: single precision when the problem says "mixed"."""
        return np.float32 if self.problem.precision == "mixed" else np.float64

    def step_batch(self, keep: Keep | None = None) -> Batch:
        """Return the samples of the gradient step; `keep` may hold their normals for others."""
        return self._batch(Stream.STEP_DATA, self.problem.samples_per_step, keep)

    def training_batch(self, keep: Keep | None = None) -> Batch:
        """Return the samples of the readout, independent of the step's."""
        return self._batch(Stream.TRAINING_DATA, self.problem.samples, keep)

    def test_blocks(self) -> Iterator[Batch]:
        """Yield the test points in blocks of at most GRANULE rows, each from one component.

        The block size is fixed: products of other shapes could round differently.
        """
        rng = self.streams.generator(Stream.TEST_DATA)
        noise = self.streams.generator(Stream.TEST_DATA, "labels")
        counts = self.population.draw_counts(self.problem.samples_in_test, rng)
        for index, block in self.population.blocks(counts, rng, self._earlier(Stream.TEST_DATA)):
            rows = tuple(len(block) if i == index else 0 for i in range(len(counts)))
            yield self._labelled(block, rows, noise)

    def _batch(self, stream: Stream, size: int, keep: Keep | None) -> Batch:
        rng = self.streams.generator(stream)
        counts = self.population.draw_counts(size, rng)
        normals: Normals = rng
        # Sampled counts move the generator: what follows is then not the same for others.
        if keep is not None and self.population.counts == "exact":
            normals = keep(rng, stream)
        inputs = self.population.sample(counts, normals, self._earlier(stream))
        return self._labelled(inputs, counts, self.streams.generator(stream, "labels"))

    def _earlier(self, stream: Stream) -> tuple[int, ...]:
        """Return the sizes of the batches that a trial takes before this one."""
        sizes = {
            Stream.STEP_DATA: self.problem.samples_per_step,
            Stream.TRAINING_DATA: self.problem.samples,
        }
        return tuple(size for other, size in sizes.items() if other < stream)

    def _labelled(self, inputs: Floats, counts: tuple[int, ...], rng: np.random.Generator) -> Batch:
        projections = inputs @ self.teacher.directions
        unlabelled = Batch(inputs, projections, counts)
        labels = [
            self.teacher.labels(projections[rows], index, rng)
            for index, rows in unlabelled.components()
        ]
        return Batch(inputs.astype(self.dtype, copy=False), np.concatenate(labels), counts)


def draw(problem: Problem, *, seed: int = 0, trial: int = 0) -> Instance:
    """Return the instance of (problem, seed, trial): mixture, teacher and every scale."""
    streams = Streams(
        whole_number("seed", seed, least=0), whole_number("trial", trial, least=0), problem.redraw
    )
    _, spread = problem.scaling.rate_and_spread(problem.dimension)
    population: Population = problem.data.draw(
        problem.dimension, spread, streams.generator(Stream.MIXTURE)
    )
    scales = resolve_scales(
        problem.scaling, population, normalised_rows=problem.network.normalise_rows
    )
    teacher = problem.teacher.draw(population, scales.norm, streams.generator(Stream.TEACHER))
    return Instance(problem, population, teacher, scales, streams)
