"""The steps of the first layer, one after the other, by the problem's rule and step size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from onegrad.calculus import functions
from onegrad.calculus.rules import Inputs, get_rule, with_momentum
from onegrad.calculus.spectra import matrix_spectrum
from onegrad.core.batches import Batch, BatchDraw
from onegrad.core.draw_cache import Shared
from onegrad.core.instance import Instance, Layers, initialise, require_instance
from onegrad.core.low_degree import LowDegree, estimate_low_degree
from onegrad.core.problem import Problem
from onegrad.core.step import STEP_ROWS, batch_direction, streamed_direction
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import Floats, Metrics, of_kind, whole_number

LARGEST_WEIGHT = 1e100  # squares of sums of squares must not overflow


@dataclass(frozen=True)
class StepTaken:
    """A step that was taken: its number, η, G, and the first layer after it."""

    number: int
    learning_rate: float
    gradient: Floats
    first: Floats


@dataclass(frozen=True)
class RunState:
    """The state after a step: how many were taken, the first layer, the momentum."""

    step: int
    first: Floats
    momentum: Floats | None = None


class Run:
    """The first layer of one instance: F at the start, and after every step that is taken.

    A step depends on (problem, seed, trial) and its number alone: a run of more steps begins with
    the same ones.
    """

    def __init__(self, instance: Instance, *, shared: Shared | None = None) -> None:
        require_instance(instance)
        if shared is not None:
            of_kind("shared", shared, Shared, remedy="make one, or leave it out")
        self.instance, self._shared = instance, shared
        self.layers = initialise(instance) if shared is None else shared.initialise(instance)
        self.state = RunState(0, self.layers.first)
        self._parts: dict[int, LowDegree] = {}

    @property
    def first(self) -> Floats:
        """The first layer as it is now."""
        return self.state.first

    def instance_at(self, step: int) -> Instance:
        """Return the instance with the labels that step and readout see there."""
        return self.instance.without(self.low_degree(max(whole_number("step", step, least=0), 1)))

    def low_degree(self, step: int) -> LowDegree:
        """Return the part of the labels that is estimated on a step's batch."""
        whole_number("step", step, least=1)
        problem = self.instance.problem
        place = 1 if problem.training.batches == "reused" else step
        if place not in self._parts:
            self._parts[place] = estimate_low_degree(
                problem.training.subtract,
                self.instance.step_draw(place).blocks(),
                samples=problem.samples_per_step,
                dimension=problem.dimension,
            )
        return self._parts[place]

    def advance(self) -> StepTaken:
        """Return the next step after taking it."""
        number = self.state.step + 1
        instance = self.instance_at(number)
        draw = instance.step_draw(number)
        # A batch of a size to hold is drawn once, for the gradient and for what the rule reads.
        batch = self._held_batch(instance, draw, number) if draw.held else None
        gradient = self._gradient(draw, batch, number)
        taken, self.state = next_state(instance, self.state, gradient, lambda: _inputs(draw, batch))
        return taken

    def _held_batch(self, instance: Instance, draw: BatchDraw, number: int) -> Batch:
        if self._shared is None or number > 1:
            return draw.whole()
        return self._shared.step_batch(instance)

    def _gradient(self, draw: BatchDraw, batch: Batch | None, number: int) -> Floats:
        """Return G on the step's batch, at the layers as they are now."""
        layers = Layers(self.first, self.layers.second)
        activation = functions.get_activation(self.instance.problem.network.activation)
        if batch is None:
            blocks = ((b.inputs @ self.first.T, b.inputs, b.labels) for b in draw.blocks())
            return streamed_direction(layers, blocks, samples=draw.size, activation=activation)
        known = None
        if self._shared is not None and number == 1:
            known = self._shared.step_preactivations(self.instance, layers, batch)
        return batch_direction(
            layers, batch.inputs, batch.labels, activation=activation, preactivations=known
        )


def next_state(
    instance: Instance, state: RunState, gradient: Floats, inputs: Inputs
) -> tuple[StepTaken, RunState]:
    """Return the step along the rule's direction of G, and the state after it."""
    problem, training, number = instance.problem, instance.problem.training, state.step + 1
    moved = with_momentum(gradient, state.momentum, training.momentum)
    direction = get_rule(training.rule).direction(moved, inputs)
    rate = instance.scales.learning_rate
    if rate is None:
        norm = matrix_spectrum(direction).norm
        exponent = problem.scaling.exponent_of(number)
        rate = float(problem.dimension) ** exponent / norm if norm > 0 else 0.0
    first = state.first
    if rate != 0:
        first = direction * direction.dtype.type(rate)
        first += state.first
    _require_finite(first, rate, number)
    taken = StepTaken(number, rate, gradient, first)
    return taken, RunState(number, first, moved if training.momentum else None)


def _inputs(draw: BatchDraw, batch: Batch | None) -> Iterator[Floats]:
    """Yield the inputs of a step's batch in blocks."""
    if batch is None:
        yield from (block.inputs for block in draw.blocks())
    else:
        for start in range(0, len(batch.inputs), STEP_ROWS):
            yield batch.inputs[start : start + STEP_ROWS]


def finished_run(instance: Instance) -> Run:
    """Return the run of an instance after all its steps."""
    run = Run(instance)
    while run.state.step < instance.problem.training.steps:
        run.advance()
    return run


def _require_finite(first: Floats, rate: float, number: int) -> None:
    largest = max(float(np.max(first)), -float(np.min(first)))
    if not largest <= LARGEST_WEIGHT:  # nan is not either
        raise InvalidInput(
            f"learning_rate={rate:.3g}: the first layer after step {number} holds {largest:.3g}, "
            f"must be finite and at most {LARGEST_WEIGHT:g}; lower it, or bring spread, levels, "
            "means and labels nearer to 1"
        )


def endless(problem: Problem) -> str:
    """Return the digest of everything about a problem but how many steps it takes."""
    if isinstance(problem.scaling.change_exponent, tuple):
        return problem.digest
    return problem.replace(training__steps=1).digest


def stack_steps(by_step: Sequence[dict[str, Metrics]]) -> dict[str, Metrics]:
    """Return the metrics by model, with an axis of steps in front where there are several."""
    if len(by_step) == 1:
        return by_step[0]
    return {
        key: {name: np.stack([part[key][name] for part in by_step]) for name in metrics}
        for key, metrics in by_step[0].items()
    }
