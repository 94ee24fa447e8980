"""One step of the first layer: the gradient on a batch, and the update by the problem's rule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from onegrad.calculus.function import Function
from onegrad.calculus.rules import Inputs, get_rule, with_momentum
from onegrad.calculus.spectra import matrix_spectrum
from onegrad.core.instance import Instance, Layers
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import Floats
from onegrad.machine.progress import moved

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
        moved(seen / samples)
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
