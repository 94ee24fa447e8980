"""The network before training: first and second layer, drawn by the problem's rules."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onegrad.describe.arrays import Floats, Normals, columns_of, matching_rows, real_array
from onegrad.describe.checks import of_kind
from onegrad.training.batches import Keep
from onegrad.training.instance import Instance, require_instance
from onegrad.training.streams import Stream


@dataclass(frozen=True)
class Layers:
    """First layer F (k × n) and second layer w (k) of ŷ = wᵀσ(Fx)/√k."""

    first: Floats
    second: Floats


def checked_layers(layers: object) -> Layers:
    """Return layers whose arrays are real, finite and fit together, for a function's door."""
    given = of_kind("layers", layers, Layers, remedy="make them with Layers(first, second)")
    first = real_array("layers.first", given.first, axes=("neurons", "inputs"))
    second = real_array("layers.second", given.second, axes=("weights",))
    matching_rows("layers.second", second, "layers.first", len(first))
    return Layers(first, second)


def checked_first_layer(instance: Instance, first_layer: object, *, name: str) -> Floats:
    """Return a first layer that fits an instance's inputs, for a function's door."""
    require_instance(instance)
    first = real_array(name, first_layer, axes=("neurons", "inputs"))
    columns_of(name, first, instance.problem.dimension, said="the problem's dimension")
    return first


def initialise(instance: Instance) -> Layers:
    """Return F and w by the problem's rules."""
    require_instance(instance)
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
    """Return w by the problem's rule."""
    problem = instance.problem
    rng = instance.streams.generator(Stream.SECOND_LAYER)
    return second_layer(problem.network.second_layer, problem.width, rng)


def second_layer(rule: str, width: int, rng: np.random.Generator) -> Floats:
    """Return w of `width` k: N(0, 1/k), ±1/√k or 1/√k."""
    if rule == "gaussian":
        return rng.standard_normal(width) / np.sqrt(width)
    if rule == "sign":
        return np.where(rng.random(width) < 0.5, -1.0, 1.0) / np.sqrt(width)
    return np.full(width, 1 / np.sqrt(width))
