"""One drawn instance of a problem: a concrete mixture and teacher, and batches from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import DTypeLike

from onegrad.data.mixture import Mixture
from onegrad.data.population import Population
from onegrad.data.teacher import Teacher
from onegrad.data.teacher_sum import TeacherSum, residual
from onegrad.describe.checks import of_kind, whole_number
from onegrad.problem.problem import Problem, require_problem
from onegrad.problem.scaling import Scales, resolve_scales
from onegrad.training.batches import Batch, BatchDraw, Keep
from onegrad.training.low_degree import NOTHING, LowDegree
from onegrad.training.streams import Stream, Streams


@dataclass(frozen=True)
class Instance:
    """A problem with everything drawn that does not belong to the network.

    `subtracted` is the part that was taken off the teacher's labels: predictions get it back.
    """

    problem: Problem
    population: Population
    teacher: Teacher
    scales: Scales
    streams: Streams
    subtracted: LowDegree = NOTHING

    @property
    def mixture(self) -> Mixture:
        """The mixture whose moments exact errors and theory read."""
        return self.population.mixture

    @property
    def dtype(self) -> DTypeLike:
        """Type of inputs and first layer: single precision when the problem says "mixed"."""
        return np.float32 if self.problem.precision == "mixed" else np.float64

    def without(self, part: LowDegree) -> Instance:
        """Return the instance whose labels lack this part."""
        if part.method == "none":
            return self
        none = np.zeros(self.problem.dimension)
        slope = none if part.slope is None else part.slope
        teacher = residual(self.teacher, part.constant, slope)
        return replace(self, teacher=teacher, subtracted=part)

    @property
    def whole_teacher(self) -> Teacher:
        """The teacher of labels that nothing was taken off."""
        if self.subtracted.method == "none":
            return self.teacher
        assert isinstance(self.teacher, TeacherSum)
        return self.teacher.parts[0]

    def step_draw(self, step: int) -> BatchDraw:
        """Return the batch of step 1, 2, …: its own, or that of the first."""
        whole_number("step", step, least=1)
        problem = self.problem
        size = problem.samples_per_step
        if step == 1 or problem.training.batches == "reused":
            return BatchDraw(self, Stream.STEP_DATA, size)
        # After those of a single step: a run of more steps begins with the same rows.
        earlier = (*self._before_test, problem.samples_in_test, *(size,) * (step - 2))
        return BatchDraw(self, Stream.STEP_DATA, size, earlier, (f"step {step}",))

    def readout_draw(self, step: int) -> BatchDraw:
        """Return the batch of the readout after a step; before the first, that of the first."""
        whole_number("step", step, least=0)
        problem = self.problem
        if problem.readout.batch == "same":
            return self.step_draw(max(step, 1))
        earlier = (problem.samples_per_step,)
        return BatchDraw(self, Stream.TRAINING_DATA, problem.samples, earlier)

    def step_batch(self, keep: Keep | None = None) -> Batch:
        """Return the samples of the first step; `keep` may hold their normals for others."""
        return self.step_draw(1).whole(keep)

    def training_batch(self, keep: Keep | None = None) -> Batch:
        """Return the samples of the readout after the first step."""
        return self.readout_draw(1).whole(keep)

    def test_blocks(self) -> Iterator[Batch]:
        """Yield the test points in blocks of at most GRANULE rows, each from one component.

        The block size is fixed: products of other shapes could round differently.
        """
        size = self.problem.samples_in_test
        return BatchDraw(self, Stream.TEST_DATA, size, self._before_test).granules()

    @property
    def _before_test(self) -> tuple[int, ...]:
        """The sizes of the batches that a trial of one step takes before its test points."""
        problem = self.problem
        fresh = (problem.samples,) if problem.readout.batch == "fresh" else ()
        return (problem.samples_per_step, *fresh)


def draw(problem: Problem, *, seed: int = 0, trial: int = 0) -> Instance:
    """Return the instance of (problem, seed, trial): mixture, teacher and every scale."""
    require_problem(problem)
    streams = Streams(
        whole_number("seed", seed, least=0), whole_number("trial", trial, least=0), problem.redraw
    )
    population: Population = problem.data.draw(
        problem.dimension,
        problem.scaling.spread_at(problem.dimension),
        streams.generator(Stream.MIXTURE),
    )
    scales = resolve_scales(
        problem.scaling,
        population,
        normalised_rows=problem.network.normalise_rows,
        width=problem.width,
        samples=problem.samples_per_step,
    )
    teacher = problem.teacher.draw(population, scales.norm, streams.generator(Stream.TEACHER))
    return Instance(problem, population, teacher, scales, streams)


def require_instance(instance: object) -> None:
    """Raise InvalidInput unless an Instance was given."""
    of_kind("instance", instance, Instance, remedy="make one with draw(problem)")
