"""The gradient of the first layer on a batch, and the gradient step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count

import numpy as np

from onegrad.calculus.function import Function
from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import InvalidInput
from onegrad.training.layers import Layers

STEP_ROWS = 1024  # samples per product of the step; fixed, so that sums have one order


def step_preactivations(first: Floats, inputs: Floats) -> Iterator[Floats]:
    """Yield X̃Fᵀ in blocks of STEP_ROWS samples, each (rows × k)."""
    for start in range(0, len(inputs), STEP_ROWS):
        yield inputs[start : start + STEP_ROWS] @ first.T


def descent_direction(
    layers: Layers,
    inputs: Floats,
    labels: Floats,
    *,
    activation: Function,
    preactivations: Iterable[Floats] | None = None,
) -> Floats:
    """Return G = (1/N) [(w rᵀ/√k) ⊙ σ'(FX̃ᵀ)] X̃ with r = ỹ − wᵀσ(FX̃ᵀ)/√k, shape k × n.

    G is minus the gradient of (1/2N) Σ r² in F. Samples are streamed in blocks of STEP_ROWS, so
    memory is O(kn + k·STEP_ROWS); `preactivations` are those blocks when already known.
    """
    if preactivations is None:
        preactivations = step_preactivations(layers.first, inputs)
    blocks = (
        (block, inputs[start : start + len(block)], labels[start : start + len(block)])
        for start, block in zip(count(0, STEP_ROWS), preactivations, strict=False)
    )
    return streamed_direction(layers, blocks, samples=len(labels), activation=activation)


def streamed_direction(
    layers: Layers,
    blocks: Iterable[tuple[Floats, Floats, Floats]],
    *,
    samples: int,
    activation: Function,
) -> Floats:
    """Return G from blocks of (X̃Fᵀ, X̃, ỹ), STEP_ROWS rows each, `samples` in all."""
    dtype = layers.first.dtype
    scaled = layers.second / np.sqrt(len(layers.second))
    total: Floats | None = None
    for block, inputs, labels in blocks:
        value, slope = activation.value_and_derivative(block)
        residual = labels - value @ scaled.astype(dtype)
        # Not in place: a registered derivative may return its argument, or truth values.
        weighted = np.multiply(slope, residual[:, None].astype(dtype), dtype=dtype)
        part = weighted.T @ inputs
        total = part if total is None else np.add(total, part, out=total)
    assert total is not None
    total *= (scaled / samples)[:, None].astype(dtype)
    return total


def gradient_step(
    layers: Layers,
    inputs: Floats,
    labels: Floats,
    *,
    activation: Function,
    learning_rate: float,
    preactivations: Iterable[Floats] | None = None,
) -> Floats:
    """Return F̂ = F + ηG, the first layer after one gradient step."""
    if learning_rate == 0:
        return layers.first
    change = descent_direction(
        layers, inputs, labels, activation=activation, preactivations=preactivations
    )
    change *= change.dtype.type(learning_rate)
    change += layers.first
    if not np.isfinite(np.sum(change)):
        raise InvalidInput(
            f"learning_rate={learning_rate:.3g}: the first layer after the step is not finite; "
            "lower it, or bring spread, levels, means and labels nearer to 1"
        )
    return change
