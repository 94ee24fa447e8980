"""One drawn instance of a problem: mixture, teacher, scales, batches and initial layers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import DTypeLike

from onegrad.calculus.function import Function
from onegrad.calculus.functions import get_activation
from onegrad.core.batches import Batch, BatchDraw, Keep
from onegrad.core.low_degree import NOTHING, LowDegree
from onegrad.core.problem import Problem, require_problem
from onegrad.core.scaling import Scales, resolve_scales
from onegrad.core.streams import Stream, Streams
from onegrad.data.joint_teachers import TeacherSum, residual
from onegrad.data.mixture import Mixture
from onegrad.data.mixture_source import Component, MixtureSource
from onegrad.data.source import Population
from onegrad.data.teachers import Teacher
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import Array, Floats, Normals


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

    @cached_property
    def activation(self) -> Function:
        """The activation σ of the network."""
        return get_activation(self.problem.network.activation)

    @property
    def dtype(self) -> DTypeLike:
        """Type of inputs and first layer: single precision if the precision is "mixed"."""
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
        problem = self.problem
        size = problem.samples_per_step
        if step == 1 or problem.training.batches == "reused":
            return BatchDraw(self, Stream.STEP_DATA, size)
        # After those of a single step: a run of more steps begins with the same rows.
        earlier = (*self._before_test, problem.samples_in_test, *(size,) * (step - 2))
        return BatchDraw(self, Stream.STEP_DATA, size, earlier, (f"step {step}",))

    def readout_draw(self, step: int) -> BatchDraw:
        """Return the batch of the readout after a step; before the first, that of the first."""
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
    streams = Streams(seed, trial, problem.redraw)
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


@dataclass(frozen=True)
class Layers:
    """First layer F (k × n) and second layer w (k) of ŷ = wᵀσ(Fx)/√k."""

    first: Floats
    second: Floats


def initialise(instance: Instance) -> Layers:
    """Return F and w by the problem's rules."""
    return Layers(draw_first_layer(instance), draw_second_layer(instance))


def draw_first_layer(instance: Instance, keep: Keep | None = None) -> Floats:
    """Return F_ij ~ N(0, 1/Tr Σ), or rows of norm 1; `keep` may hold the normals for others.

    Row i does not depend on the width: wider networks extend narrower ones.
    """
    problem = instance.problem
    rng = instance.streams.generator(Stream.FIRST_LAYER)
    normals: Normals = rng if keep is None else keep(rng, Stream.FIRST_LAYER)
    first = normals.standard_normal((problem.width, problem.dimension))
    if problem.network.normalise_rows:
        first = first / np.linalg.norm(first, axis=1, keepdims=True)
    else:
        first = first / np.sqrt(instance.scales.trace)
    return first.astype(instance.dtype, copy=False)


def draw_second_layer(instance: Instance) -> Floats:
    """Return w by the problem's rule: N(0, 1/k), ±1/√k or 1/√k."""
    rule, width = instance.problem.network.second_layer, instance.problem.width
    rng = instance.streams.generator(Stream.SECOND_LAYER)
    if rule == "gaussian":
        return rng.standard_normal(width) / np.sqrt(width)
    if rule == "sign":
        return np.where(rng.random(width) < 0.5, -1.0, 1.0) / np.sqrt(width)
    return np.full(width, 1 / np.sqrt(width))


Rows = Batch | BatchDraw  # a batch: whole, or drawn in blocks if it is large


class Draws:
    """The draws and products of a trial, made whenever a stage asks for them."""

    def initialise(self, instance: Instance) -> Layers:
        """Return the initial layers F and w."""
        return initialise(instance)

    def step_batch(self, instance: Instance, step: int) -> Rows:
        """Return the samples of step 1, 2, …"""
        drawn = instance.step_draw(step)
        return drawn.whole() if drawn.held else drawn

    def preactivations(
        self, instance: Instance, first: Floats, batch: Rows, step: int
    ) -> Iterator[tuple[Floats, Floats, Floats]]:
        """Yield (X̃Fᵀ, X̃, ỹ) of a step's batch in blocks."""
        for inputs, labels in batch.rows():
            yield inputs @ first.T, inputs, labels

    def readout_batch(self, instance: Instance, step: int) -> Batch:
        """Return the samples of the readout after a step, whole."""
        return instance.readout_draw(step).whole()

    def model_noise(self, instance: Instance, model: str) -> Normals:
        """Return the source of a model's noise, the same after every step."""
        return instance.streams.generator(Stream.MODEL_NOISE, model)


FRESH = Draws()


def on_fitted_mixture(problem: Problem) -> Problem:
    """Return the same problem with the mixture fitted to its real data in their place.

    Tr Σ, ‖Σ‖ and b stay those of the data. It can be sampled, simulated on and predicted from.
    """
    require_problem(problem)
    if problem.data.exact_moments:
        raise InvalidInput(
            f"data.kind={problem.data.kind!r}: is a mixture already; give EmpiricalData"
        )
    instance = draw(problem)
    spread = instance.scales.spread
    if not spread > 0:
        raise InvalidInput(f"spread={spread:g}: must be above 0 for a mixture; raise it")
    components = tuple(
        Component(
            weight=part.weight,
            mean=None if part.mean is None else Array(part.mean),
            level=part.level,
            directions=Array(part.directions),
            strengths=tuple((part.strengths / spread).tolist()),
            label=part.label,
        )
        for part in instance.mixture.components
    )
    scales = instance.scales
    return problem.replace(
        data=MixtureSource(components=components),
        test="exact",
        scaling__trace=scales.trace,
        scaling__norm=scales.norm,
        scaling__bulk_deviation=scales.bulk_deviation,
    )
