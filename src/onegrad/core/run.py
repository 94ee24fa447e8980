"""The steps of the first layer, each a gradient on a batch and an update by the rule.

`descent_direction` and `next_state` are the formulas of one step; a `Run` takes one after another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from onegrad.calculus.function import Function
from onegrad.calculus.rules import Inputs, get_rule, with_momentum
from onegrad.calculus.spectra import matrix_spectrum
from onegrad.core.draw_cache import Shared
from onegrad.core.instance import FRESH, Instance, Layers
from onegrad.core.low_degree import LowDegree, estimate_low_degree
from onegrad.core.problem import Problem
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import Floats, Metrics
from onegrad.machine.progress import report

LARGEST_WEIGHT = 1e100  # squares of sums of squares must not overflow


def descent_direction(
    layers: Layers,
    blocks: Iterable[tuple[Floats, Floats, Floats]],
    *,
    samples: float,
    activation: Function,
) -> Floats:
    """Return G = (1/N) [(w rᵀ/√k) ⊙ σ'(FX̃ᵀ)] X̃ with r = ỹ − wᵀσ(FX̃ᵀ)/√k, shape k × n.

    G is minus the gradient of (1/2N) Σ r² in F, in the precision of F. The batch comes in blocks of
    (X̃Fᵀ, X̃, ỹ), BLOCK_ROWS rows each, so memory is O(kn + k·BLOCK_ROWS). `samples` is N, or the
    sum of the weights of the samples.
    """
    dtype = layers.first.dtype
    scaled = layers.second / np.sqrt(len(layers.second))
    total: Floats | None = None
    seen = 0
    for block, inputs, labels in blocks:
        value, slope = activation.value_and_derivative(block)
        residual = labels - value @ scaled.astype(dtype)
        # Not in place: a registered derivative may return its argument, or truth values.
        weighted = np.multiply(slope, residual[:, None].astype(dtype), dtype=dtype)
        part = weighted.T @ inputs
        total = part if total is None else np.add(total, part, out=total)
        seen += len(labels)
        report(seen / samples)
    assert total is not None  # a batch has samples
    total *= (scaled / samples)[:, None].astype(dtype)
    return total


@dataclass(frozen=True)
class RunState:
    """The state after a step: how many were taken, the first layer, the momentum."""

    step: int
    first: Floats
    momentum: Floats | None = None


@dataclass(frozen=True)
class StepTaken:
    """A step that was taken: its number, η, G, and the first layer after it."""

    number: int
    learning_rate: float
    gradient: Floats
    first: Floats


def next_state(
    instance: Instance, state: RunState, gradient: Floats, inputs: Inputs
) -> tuple[StepTaken, RunState]:
    """Return the step F ← F + ηD along the rule's direction D of G, and the state after it."""
    problem, training, number = instance.problem, instance.problem.training, state.step + 1
    momentum = with_momentum(gradient, state.momentum, training.momentum)
    direction = get_rule(training.rule).direction(momentum, inputs)
    rate = instance.scales.learning_rate
    if rate is None:
        norm = matrix_spectrum(direction).norm
        exponent = problem.scaling.exponent_of(number)
        rate = float(problem.dimension) ** exponent / norm if norm > 0 else 0.0
    first = state.first
    if rate != 0:
        first = direction * direction.dtype.type(rate)
        first += state.first
    largest = max(float(np.max(first)), -float(np.min(first)))
    if not largest <= LARGEST_WEIGHT:  # also refuses nan
        raise InvalidInput(
            f"learning_rate={rate:.3g}: the first layer after step {number} holds {largest:.3g}, "
            f"must be finite and at most {LARGEST_WEIGHT:g}; lower it, or bring spread, levels, "
            "means and labels nearer to 1"
        )
    taken = StepTaken(number, rate, gradient, first)
    return taken, RunState(number, first, momentum if training.momentum else None)


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
