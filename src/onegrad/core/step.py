"""The gradient of the first layer on a batch, and the gradient step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count

import numpy as np

from onegrad.calculus.function import Function
from onegrad.calculus.functions import activation_of
from onegrad.core.instance import Layers, checked_layers
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import (
    Floats,
    columns_of,
    matching_rows,
    real_array,
    real_number,
    shown,
)
from onegrad.machine.progress import report

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
    activation: Function | str,
    preactivations: Iterable[Floats] | None = None,
) -> Floats:
    """Return G = (1/N) [(w rᵀ/√k) ⊙ σ'(FX̃ᵀ)] X̃ with r = ỹ − wᵀσ(FX̃ᵀ)/√k, shape k × n.

    G is minus the gradient of (1/2N) Σ r² in F, in F's precision. Samples are streamed in blocks of
    STEP_ROWS, so memory is O(kn + k·STEP_ROWS); `preactivations` are those blocks when known.
    """
    checked = checked_layers(layers)
    x, y = _checked_batch(checked, inputs, labels)
    return batch_direction(
        checked, x, y, activation=activation_of(activation), preactivations=preactivations
    )


def _checked_batch(layers: Layers, inputs: object, labels: object) -> tuple[Floats, Floats]:
    """Return inputs in the precision of F and labels that fit them and the layers."""
    x = real_array("inputs", inputs, axes=("samples", "features"))
    y = real_array("labels", labels, axes=("numbers",))
    columns_of("inputs", x, layers.first.shape[1], said="as layers.first has")
    matching_rows("labels", y, "inputs", len(x))
    return x.astype(layers.first.dtype, copy=False), y.astype(np.float64, copy=False)


def batch_direction(
    layers: Layers,
    inputs: Floats,
    labels: Floats,
    *,
    activation: Function,
    preactivations: Iterable[Floats] | None = None,
) -> Floats:
    """Return `descent_direction` of arrays that are known to be right."""
    if preactivations is None:
        preactivations = step_preactivations(layers.first, inputs)
    else:
        preactivations = _fitting(preactivations, len(inputs), len(layers.first))
    blocks = (
        (block, inputs[start : start + len(block)], labels[start : start + len(block)])
        for start, block in zip(count(0, STEP_ROWS), preactivations, strict=False)
    )
    return streamed_direction(layers, blocks, samples=len(labels), activation=activation)


def _fitting(blocks: Iterable[Floats], samples: int, width: int) -> Iterator[Floats]:
    """Yield the blocks; raise InvalidInput where they are not X̃Fᵀ in blocks of STEP_ROWS rows."""
    if not isinstance(blocks, Iterable):
        raise InvalidInput(
            f"preactivations={shown(blocks)}: must be a list of blocks; use step_preactivations"
        )
    done = 0
    for block in blocks:
        expected = (min(STEP_ROWS, samples - done), width)
        if np.shape(block) != expected or not expected[0]:
            break
        done += len(block)
        yield block
    if done < samples:
        raise InvalidInput(
            f"preactivations: must be {samples} rows × {width} in blocks of {STEP_ROWS}, {done} "
            "rows fit; use step_preactivations"
        )


def streamed_direction(
    layers: Layers,
    blocks: Iterable[tuple[Floats, Floats, Floats]],
    *,
    samples: float,
    activation: Function,
) -> Floats:
    """Return G from blocks of (X̃Fᵀ, X̃, ỹ), STEP_ROWS rows each; `samples` is N, or Σ of weights."""
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
    if total is None:
        raise InvalidInput("blocks: must hold at least one sample, there is none; add some")
    total *= (scaled / samples)[:, None].astype(dtype)
    return total


def gradient_step(
    layers: Layers,
    inputs: Floats,
    labels: Floats,
    *,
    activation: Function | str,
    learning_rate: float,
    preactivations: Iterable[Floats] | None = None,
) -> Floats:
    """Return F̂ = F + ηG, the first layer after one gradient step, in F's precision."""
    rate = real_number("learning_rate", learning_rate)
    checked = checked_layers(layers)
    x, y = _checked_batch(checked, inputs, labels)
    sigma = activation_of(activation)
    if rate == 0:
        return checked.first.copy()
    with np.errstate(over="ignore", invalid="ignore"):  # the sum is checked
        change = batch_direction(checked, x, y, activation=sigma, preactivations=preactivations)
        change *= change.dtype.type(rate)
        change += checked.first
        total = np.sum(change)
    if not np.isfinite(total):
        raise InvalidInput(
            f"learning_rate={rate:.3g}: the first layer after the step is not finite; "
            "lower it, or bring spread, levels, means and labels nearer to 1"
        )
    return change
