"""A cache of the draws and products that consecutive problems of one trial have in common."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from onegrad.core.batches import Batch, Keep
from onegrad.core.instance import (
    Draws,
    Instance,
    Layers,
    Rows,
    draw_first_layer,
    draw_second_layer,
)
from onegrad.core.streams import Stream
from onegrad.describe.numbers import Floats, Normals

T = TypeVar("T")


@dataclass
class Shared(Draws):
    """Draws and products that several problems of one trial have in common.

    Pass one to consecutive `run_trial` calls, the widest network first: activations then share
    data, first layer and the step's pre-activations, and narrower networks the rows of a wider
    one. Only the latest value of each kind is remembered. No number depends on it.
    """

    _held: dict[str, tuple[Hashable, Any]] = field(default_factory=dict)

    def get(self, kind: str, key: Hashable, make: Callable[[], T]) -> T:
        """Return the latest value of this kind if its key is the same, else make and keep it."""
        keyed = self._held.get(kind)
        if keyed is None or keyed[0] != key:
            self._held.pop(kind, None)  # free before making the next
            self._held[kind] = keyed = (key, make())
        value: T = keyed[1]
        return value

    def initialise(self, instance: Instance) -> Layers:
        """Return the initial layers; the first is a part of the widest one that is remembered."""
        key = _first_layer_key(instance)
        keyed = self._held.get("first layer")
        if keyed is not None and keyed[0] == key and len(keyed[1]) < instance.problem.width:
            del self._held["first layer"]
        widest = self.get(
            "first layer", key, lambda: draw_first_layer(instance, self._keep(instance))
        )
        return Layers(widest[: instance.problem.width], draw_second_layer(instance))

    def step_batch(self, instance: Instance, step: int) -> Rows:
        """Return the samples of a step; those of the first are remembered."""
        if step > 1 or not instance.step_draw(1).held:
            return super().step_batch(instance, step)
        return self._first_batch(instance)

    def preactivations(
        self, instance: Instance, first: Floats, batch: Rows, step: int
    ) -> Iterator[tuple[Floats, Floats, Floats]]:
        """Yield (X̃Fᵀ, X̃, ỹ) in blocks; those of the first step serve all activations."""
        if step > 1 or not isinstance(batch, Batch):
            yield from super().preactivations(instance, first, batch, step)
            return
        problem = instance.problem
        key = (
            _first_layer_key(instance),
            _data_key(instance, Stream.STEP_DATA),
            (problem.width, problem.samples_per_step),
        )
        products = self.get(
            "step preactivations", key, lambda: [x @ first.T for x, _ in batch.rows()]
        )
        for product, (inputs, labels) in zip(products, batch.rows(), strict=True):
            yield product, inputs, labels

    def readout_batch(self, instance: Instance, step: int) -> Batch:
        """Return the samples of the readout; fresh ones, and those of step 1, are remembered."""
        if instance.problem.readout.batch == "same":
            drawn = instance.readout_draw(step)
            return drawn.whole() if step > 1 else self._first_batch(instance)
        size = instance.problem.samples
        # Real data give rows that the step has not seen: which, depends on how many it saw.
        seen = None if instance.problem.data.exact_moments else instance.problem.samples_per_step
        key = (_data_key(instance, Stream.TRAINING_DATA), size, seen)
        keep = self._keep(instance)
        return self.get("training batch", key, lambda: instance.training_batch(keep))

    def model_noise(self, instance: Instance, model: str) -> Normals:
        """Return the source of a model's noise, whose normals are remembered."""
        rng = instance.streams.generator(Stream.MODEL_NOISE, model)
        return self.replayed(rng, model, instance.streams.key(Stream.MODEL_NOISE))

    def _first_batch(self, instance: Instance) -> Batch:
        size = instance.problem.samples_per_step
        key = (_data_key(instance, Stream.STEP_DATA), size)
        return self.get("step batch", key, lambda: instance.step_batch(self._keep(instance)))

    def _keep(self, instance: Instance) -> Keep:
        """Return what saves the normals of a stream; other spreads and spikes use the same ones."""
        return lambda rng, stream: self.replayed(rng, stream.name, instance.streams.key(stream))

    def replayed(self, rng: np.random.Generator, name: str, key: Hashable) -> Replayed:
        """Return a source of the normals of `rng`, saved for the next caller with this key."""
        return Replayed(self, rng, name, key)


@dataclass
class Replayed:
    """Standard normals of one stream, saved for the next problem that draws the same.

    A draw is identified by all draws before it. If a draw has not been saved, the generator is
    first moved past those that were.
    """

    shared: Shared
    rng: np.random.Generator
    name: str
    key: Hashable
    sizes: list[tuple[int, ...]] = field(default_factory=list)
    skipped: list[tuple[int, ...]] = field(default_factory=list)

    def standard_normal(self, size: tuple[int, ...]) -> Floats:
        """Return what the generator would at this call."""
        self.sizes.append(size)
        self.skipped.append(size)
        kind = f"normals {self.name} {len(self.sizes)}"
        return self.shared.get(kind, (self.key, tuple(self.sizes)), self._draw)

    def _draw(self) -> Floats:
        for size in self.skipped[:-1]:
            self.rng.standard_normal(size)
        drawn = self.rng.standard_normal(self.skipped[-1])
        self.skipped.clear()
        return drawn


def _data_key(instance: Instance, stream: Stream) -> Hashable:
    p = instance.problem
    where = (p.dimension, p.precision, p.data, p.teacher, p.scaling, instance.subtracted.key)
    return instance.streams.key(stream), *where


def _first_layer_key(instance: Instance) -> Hashable:
    p = instance.problem
    scale = (instance.scales.trace, p.network.normalise_rows)
    return instance.streams.key(Stream.FIRST_LAYER), p.dimension, p.precision, scale
