"""The steps of the first layer, one after the other, by the problem's rule and step size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onegrad.core.draw_cache import FRESH, Shared
from onegrad.core.instance import Instance, Layers
from onegrad.core.low_degree import LowDegree, estimate_low_degree
from onegrad.core.problem import Problem
from onegrad.core.step import RunState, StepTaken, descent_direction, next_state
from onegrad.describe.numbers import Floats, Metrics


class Run:
    """The first layer of one instance: F at the start, and after every step that is taken.

    A step depends on (problem, seed, trial) and its number alone: a run of more steps begins with
    the same ones.
    """

    def __init__(self, instance: Instance, *, shared: Shared | None = None) -> None:
        self.instance, self._draws = instance, shared or FRESH
        self.layers = self._draws.initialise(instance)
        self.state = RunState(0, self.layers.first)
        self._parts: dict[int, LowDegree] = {}

    @property
    def first(self) -> Floats:
        """The first layer as it is now."""
        return self.state.first

    def first_at(self, step: int) -> Floats:
        """Return the first layer that readouts see: F before the first step, else as it is now."""
        return self.first if step else self.layers.first

    def instance_at(self, step: int) -> Instance:
        """Return the instance with the labels that step and readout see there."""
        return self.instance.without(self.low_degree(max(step, 1)))

    def low_degree(self, step: int) -> LowDegree:
        """Return the part of the labels that is estimated on a step's batch."""
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
        layers = Layers(self.first, self.layers.second)
        batch = self._draws.step_batch(instance, number)
        gradient = descent_direction(
            layers,
            self._draws.preactivations(instance, layers.first, batch, number),
            samples=instance.problem.samples_per_step,
            activation=instance.activation,
        )
        taken, self.state = next_state(
            instance, self.state, gradient, lambda: (inputs for inputs, _ in batch.rows())
        )
        return taken


def finished_run(instance: Instance) -> Run:
    """Return the run of an instance after all its steps."""
    run = Run(instance)
    while run.state.step < instance.problem.training.steps:
        run.advance()
    return run


def endless(problem: Problem) -> str:
    """Return the digest of everything about a problem but how many steps it takes."""
    if isinstance(problem.scaling.change_exponent, tuple):
        return problem.digest
    return problem.replace(training__steps=1).digest


def stack_steps(by_step: Sequence[dict[str, Metrics]]) -> dict[str, Metrics]:
    """Return the metrics by model, with an axis of steps in front if there are several."""
    if len(by_step) == 1:
        return by_step[0]
    return {
        key: {name: np.stack([part[key][name] for part in by_step]) for name in metrics}
        for key, metrics in by_step[0].items()
    }
