"""One trial: draw, take the steps, fit every model's readout, and measure its errors."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from onegrad.describe.arrays import Floats, Metrics, Normals
from onegrad.describe.exceptions import require_finite
from onegrad.machine.pulse import moved, part
from onegrad.models.feature_map import FeatureMap, Points, require_maps
from onegrad.models.model import Model
from onegrad.models.network import NETWORK
from onegrad.problem.problem import Problem
from onegrad.training.batches import HELD_BYTES, Batch, BatchDraw
from onegrad.training.instance import Instance, draw
from onegrad.training.layers import checked_first_layer
from onegrad.training.problem_readout import (
    ProblemReadout,
    class_targets,
    readout_from_features,
    readout_from_sums,
)
from onegrad.training.reuse import Shared
from onegrad.training.run import Run, StepTaken, endless, stack_steps
from onegrad.training.streamed_readout import FeatureSums
from onegrad.training.streams import Stream
from onegrad.verbs.evaluation import model_errors

if TYPE_CHECKING:
    from onegrad.diagnostics.features import FeatureWatch
    from onegrad.diagnostics.observer import Observer

STEP_SHARE, FIT_SHARE = 0.3, 0.8  # about what share of the time a bar shows for step and readouts


def run_trial(
    problem: Problem,
    models: Sequence[Model],
    *,
    seed: int = 0,
    trial: int = 0,
    shared: Shared | None = None,
) -> dict[str, Metrics]:
    """Return the metrics of every model, each an array over (steps ×) penalties.

    A model's numbers are the same whichever others are asked for.
    """

    def start() -> TrialRun:
        return TrialRun(Run(draw(problem, seed=seed, trial=trial), shared=shared), models, shared)

    if shared is None:
        run = start()
    else:
        # Runs that differ in the number of steps begin alike: the longer one goes on.
        key = (endless(problem), seed, trial, tuple(model.key for model in models))
        run = shared.get("trial", key, start)
    results = stack_steps(measured_steps(run, problem.recorded_steps))
    return {model.name: results[model.key] for model in models}


def measured_steps(run: TrialRun, steps: Sequence[int]) -> list[dict[str, Metrics]]:
    """Return the metrics after each of these steps, telling how far that is."""
    by_step = []
    for place, step in enumerate(steps):
        with part(place / len(steps), (place + 1) / len(steps)):
            by_step.append(run.metrics(step))
    return by_step


class TrialRun:
    """A trial that goes on step by step; what was measured after a step stays."""

    def __init__(
        self,
        run: Run,
        models: Sequence[Model],
        shared: Shared | None = None,
        observer: Observer | None = None,
    ) -> None:
        self.run = run
        self._models, self._shared, self._observer = models, shared, observer
        self._metrics: dict[int, dict[str, Metrics]] = {}
        self._untrained: tuple[Hashable, dict[str, Metrics]] | None = None

    def metrics(self, step: int) -> dict[str, Metrics]:
        """Return every model's metrics after a step, by key."""
        # Overflow is not hidden: every result is checked for it.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if step not in self._metrics:
                taken = None
                with part(0.0, STEP_SHARE):
                    while self.run.state.step < step:
                        taken = self.run.advance()
                with part(STEP_SHARE, 1.0):
                    self._metrics[step] = self._measured(step, taken)
        return self._metrics[step]

    def _measured(self, step: int, taken: StepTaken | None) -> dict[str, Metrics]:
        instance, initial = self.run.instance_at(step), self.run.layers.first
        # Before the first step all read the initial layer, whatever was trained since.
        trained = initial if step == 0 else self.run.first
        results: dict[str, Metrics] = {}
        chosen = {m.key: m for m in self._models if m.first_layer == "trained"}
        if chosen:
            watch = None
            if self._observer is not None:
                watch = self._observer.watch(self.run, trained)
            results |= self._fitted(instance, trained, trained, chosen, step, watch)
            if self._observer is not None and watch is not None:
                self._observer.record(self.run, step, taken, watch, results[NETWORK.key])
        chosen = {m.key: m for m in self._models if m.first_layer == "initial"}
        if chosen:
            key = (instance.readout_draw(step).names, instance.subtracted.key)
            if self._untrained is None or self._untrained[0] != key:
                fitted = self._fitted(instance, trained, initial, chosen, step, None)
                self._untrained = key, fitted
            results |= self._untrained[1]
        return results

    def _fitted(
        self,
        instance: Instance,
        trained: Floats,
        matrix: Floats,
        models: dict[str, Model],
        step: int,
        watch: FeatureWatch | None,
    ) -> dict[str, Metrics]:
        """Return the metrics of the models that read one first layer."""
        layers = self.run.layers
        maps = {key: m.feature_map(instance, layers, trained) for key, m in models.items()}
        with part(0.0, FIT_SHARE):
            fits = fit_models(instance, matrix, maps, step=step, shared=self._shared, watch=watch)
        with part(FIT_SHARE, 1.0):
            errors = model_errors(instance, matrix, maps, fits)
        for key, model in models.items():
            fit = fits[key]
            errors[key] |= fit.metrics()
            require_finite(model.name, errors[key])
        return errors


def features(feature_map: FeatureMap, batch: Batch, preactivations: Floats, rng: Normals) -> Floats:
    """Return the features of a batch, component by component where the model tells them apart."""
    blocks = list(batch.components())
    if feature_map.basis(blocks[0][0]) is None:
        return feature_map.features(Points(blocks[0][0], preactivations), rng)
    parts = [
        Points.of(feature_map, component, batch.inputs[rows], preactivations[rows])
        for component, rows in blocks
    ]
    return np.concatenate([feature_map.features(points, rng) for points in parts])


def fit_models(
    instance: Instance,
    first_layer: Floats,
    maps: dict[str, FeatureMap],
    *,
    step: int = 1,
    shared: Shared | None = None,
    watch: FeatureWatch | None = None,
) -> dict[str, ProblemReadout]:
    """Return every model's readout from one product of inputs and first layer.

    A batch whose features are too many to hold is drawn in blocks, and Gram matrices are summed.
    `watch` sees the network's features.
    """
    first_layer = checked_first_layer(instance, first_layer, name="first_layer")
    require_maps(maps)
    drawn = instance.readout_draw(step)
    noise = {key: _noise(instance, key, shared) for key in maps}
    streamed = not drawn.held or 8.0 * drawn.size * len(first_layer) > HELD_BYTES
    if streamed and instance.problem.readout.loss == "square":
        return _streamed_fits(instance, drawn, first_layer, maps, noise, watch)
    batch = _held_batch(instance, drawn, step, shared)
    preactivations = batch.inputs @ first_layer.T
    fits = {}
    for key, feature_map in maps.items():
        phi = features(feature_map, batch, preactivations, noise[key])
        fits[key] = readout_from_features(instance, batch, phi)
        if watch is not None and key == NETWORK.key:
            sums = FeatureSums.empty(len(first_layer))
            sums.add(phi, batch.labels)
            watch.add(batch.inputs, phi)
            watch.sums = sums
        del phi  # before the next model's are made
        moved(len(fits) / len(maps))
    return fits


def _held_batch(instance: Instance, drawn: BatchDraw, step: int, shared: Shared | None) -> Batch:
    if shared is None or (drawn.stream == Stream.STEP_DATA and step > 1):
        return drawn.whole()
    if drawn.stream == Stream.STEP_DATA:
        return shared.step_batch(instance)
    return shared.training_batch(instance)


def _noise(instance: Instance, key: str, shared: Shared | None) -> Normals:
    """Return the source of a model's noise, the same after every step."""
    rng = instance.streams.generator(Stream.MODEL_NOISE, key)
    if shared is None:
        return rng
    return shared.replayed(rng, key, instance.streams.key(Stream.MODEL_NOISE))


def _streamed_fits(
    instance: Instance,
    drawn: BatchDraw,
    first_layer: Floats,
    maps: dict[str, FeatureMap],
    noise: dict[str, Normals],
    watch: FeatureWatch | None,
) -> dict[str, ProblemReadout]:
    """Return every model's readout from sums over blocks of a batch that is not held."""
    classes = instance.problem.classes
    outputs = (len(classes),) if classes else ()
    sums = {key: FeatureSums.empty(len(first_layer), *outputs) for key in maps}
    # One component at a time, as noise of a model that tells them apart is drawn for a held batch.
    seen = 0
    for batch in drawn.granules():
        seen += len(batch.labels)
        moved(seen / drawn.size)
        preactivations = batch.inputs @ first_layer.T
        labels = class_targets(instance, batch) if classes else batch.labels
        for key, feature_map in maps.items():
            phi = features(feature_map, batch, preactivations, noise[key])
            sums[key].add(phi, labels)
            if watch is not None and key == NETWORK.key:
                watch.add(batch.inputs, phi)
                watch.sums = sums[key]
    return {key: readout_from_sums(instance.problem, sums[key]) for key in maps}
