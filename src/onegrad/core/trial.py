"""One trial: draw, take the steps, fit the readout of every model, measure the errors."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy.special import ndtr

from onegrad.calculus.loss_expectations import output_rule
from onegrad.calculus.losses import NamedLoss, get_loss
from onegrad.core.batches import HELD_BYTES, Batch, BatchDraw
from onegrad.core.draw_cache import Shared
from onegrad.core.instance import Instance, checked_first_layer, draw
from onegrad.core.models import NETWORK, Model
from onegrad.core.problem import Problem
from onegrad.core.problem_readout import (
    ClassReadout,
    ProblemReadout,
    class_targets,
    counted_labels,
    readout_from_features,
    readout_from_sums,
    wrong_classes,
)
from onegrad.core.readout import FeatureSums, FittedReadout
from onegrad.core.run import Run, StepTaken, endless, stack_steps
from onegrad.core.streams import Stream
from onegrad.data.teachers import ExpectedSigns
from onegrad.describe.exceptions import InvalidInput, require_finite
from onegrad.describe.numbers import Floats, Metrics, Normals, real_array, shown
from onegrad.machine.progress import report, section
from onegrad.moments.exact_errors import exact_class_mse, exact_test_mse
from onegrad.moments.feature_laws import FeatureMap, Points, require_maps

if TYPE_CHECKING:
    from onegrad.core.feature_watch import FeatureWatch


def measure_errors(
    instance: Instance,
    first_layer: Floats,
    maps: dict[str, FeatureMap],
    fits: dict[str, ProblemReadout],
) -> dict[str, Metrics]:
    """Return test_mse by the problem's rule, and what only sampled points tell.

    That is misclassification, and the test loss where it is not the square.
    """
    first_layer = checked_first_layer(instance, first_layer, name="first_layer")
    require_maps(maps)
    _require_fits(fits, maps, instance, len(first_layer))
    return model_errors(instance, first_layer, maps, fits)


def model_errors(
    instance: Instance,
    first_layer: Floats,
    maps: dict[str, FeatureMap],
    fits: dict[str, ProblemReadout],
) -> dict[str, Metrics]:
    """Return `measure_errors` of arguments that are known to fit; weights may have overflowed."""
    problem = instance.problem
    results: dict[str, Metrics] = {key: {} for key in maps}
    counted = problem.binary or problem.classes
    if problem.test == "sampled" or counted or problem.readout.loss != "square":
        results = sampled_errors(instance, first_layer, maps, fits)
    if problem.test == "exact":
        models = [(maps[key], fits[key].weights) for key in maps]
        mixture = instance.mixture
        if problem.classes:
            exact = exact_class_mse(mixture, _mean_targets(instance), first_layer, models=models)
        else:
            exact = exact_test_mse(mixture, instance.teacher, first_layer, models=models)
        for key, value in zip(maps, exact, strict=True):
            results[key]["test_mse"] = value
    return results


def _require_fits(fits: object, maps: Mapping[str, Any], instance: Instance, width: int) -> None:
    """Raise InvalidInput unless there is a readout of the right size for every feature map."""
    if not isinstance(fits, Mapping) or set(fits) != set(maps):
        raise InvalidInput(
            f"fits={shown(fits)}: must be a table with a readout for each of {', '.join(maps)}; "
            "use fit_models"
        )
    problem = instance.problem
    columns = len(problem.ridges) * max(len(problem.classes), 1)
    for key, fit in fits.items():
        if not isinstance(fit, FittedReadout | ClassReadout):
            raise InvalidInput(
                f"fits[{key!r}]={shown(fit)}: must be a fitted readout; use fit_models"
            )
        weights = real_array(f"fits[{key!r}].weights", fit.weights, axes=("neurons", "outputs"))
        if weights.shape != (width, columns):
            raise InvalidInput(
                f"fits[{key!r}].weights: has shape {weights.shape}, must be {(width, columns)} for "
                "this first layer and problem; use fit_models"
            )


def _mean_targets(instance: Instance) -> Floats:
    """Return E[t_j | c] of the targets ±1 of class j, components × classes; flips lower them."""
    labels = np.array(instance.population.labels, dtype=float)[:, None]
    kept = 1 - 2 * getattr(instance.problem.teacher, "flips", 0.0)
    return kept * np.where(labels == np.array(instance.problem.classes), 1.0, -1.0)


def sampled_errors(
    instance: Instance,
    first_layer: Floats,
    maps: dict[str, FeatureMap],
    fits: dict[str, ProblemReadout],
) -> dict[str, Metrics]:
    """Return test errors over fresh points, in blocks of bounded memory; noise is integrated out.

    One product of inputs and first layer serves all models. Outputs per class share the noise of
    their features: which is largest is counted on one draw of it for every point.
    """
    problem = instance.problem
    sums: dict[str, Metrics] = {key: {} for key in maps}
    noise = {key: instance.streams.generator(Stream.MODEL_NOISE, key, "test") for key in maps}
    for batch in instance.test_blocks():
        component, _ = next(batch.components())
        preactivations = batch.inputs @ first_layer.T
        for key, feature_map in maps.items():
            points = Points.of(feature_map, component, batch.inputs, preactivations)
            weights = fits[key].weights
            outputs = feature_map.predictions(points, weights)
            part = _summed_errors(instance, batch, *outputs)
            if problem.classes:
                drawn = outputs[0]
                if np.any(outputs[1] > 0):
                    phi = feature_map.features(points, noise[key])
                    drawn = phi @ weights / np.sqrt(len(weights))
                part["misclassification"] = wrong_classes(drawn, class_targets(instance, batch))
            sums[key] = {name: sums[key].get(name, 0.0) + value for name, value in part.items()}
    size = problem.samples_in_test
    return {key: {name: s / size for name, s in named.items()} for key, named in sums.items()}


def _summed_errors(instance: Instance, batch: Batch, mean: Floats, variance: Floats) -> Metrics:
    """Return errors of outputs with this mean and variance, summed over the rows of a block.

    They are means over the outputs where there are several, one per penalty.
    """
    problem, loss = instance.problem, get_loss(instance.problem.readout.loss)
    penalties = len(problem.ridges)
    targets = class_targets(instance, batch) if problem.classes else batch.labels[:, None]
    labels = np.repeat(targets, penalties, axis=1)
    columns = {"test_mse": np.sum((labels - mean) ** 2 + variance, axis=0)}
    if loss.name != "square":
        columns["test_loss"] = _total_loss(loss, labels, mean, variance)
    if problem.binary and not problem.classes:
        low = np.reshape(instance.subtracted.of(batch.inputs), (-1, 1))
        columns["misclassification"] = _wrong_signs(
            _expected_signs(instance, batch)[:, None], mean + low, variance
        )
    return {name: np.mean(c.reshape(-1, penalties), axis=0) for name, c in columns.items()}


def _expected_signs(instance: Instance, batch: Batch) -> Floats:
    """Return E[y | x] of labels ±1 with their flips, or the labels as drawn; no additive noise."""
    teacher = instance.whole_teacher
    if not isinstance(teacher, ExpectedSigns):
        return counted_labels(instance, batch)
    component, _ = next(batch.components())
    return teacher.expected_labels(batch.inputs @ teacher.directions, component)


def _total_loss(loss: NamedLoss, labels: Floats, mean: Floats, variance: Floats) -> Floats:
    """Return Σ E ℓ(y, mean + noise) over rows, noise of this variance."""
    if not np.any(variance > 0):
        return np.sum(loss.value(labels, mean), axis=0)
    flat = labels.ravel(), mean.ravel()
    outputs, weights = output_rule(
        loss, *flat, variance=variance.ravel(), gamma=np.zeros(mean.size)
    )
    expected = np.sum(weights * loss.value(flat[0][:, None], outputs), axis=1)
    return np.sum(expected.reshape(mean.shape), axis=0)


def _wrong_signs(expected: Floats, output: Floats, variance: Floats) -> Floats:
    """Return Σ P(y·(output + noise) ≤ 0) over rows, for signs y of this mean."""
    positive = 0.5 + 0.5 * expected
    wrong = positive * _at_most_zero(output, variance)
    wrong += (1 - positive) * _at_most_zero(-output, variance)
    return np.sum(wrong, axis=0)


def _at_most_zero(output: Floats, variance: Floats) -> Floats:
    """Return P(output + noise ≤ 0), noise of this variance."""
    deviation = np.sqrt(variance)
    certain = np.where(output > 0, 0.0, 1.0)
    noisy = ndtr(-output / np.where(deviation > 0, deviation, 1.0))
    return np.where(deviation > 0, noisy, certain)


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
        with section(place / len(steps), (place + 1) / len(steps)):
            by_step.append(run.metrics(step))
    return by_step


class StepObserver(Protocol):
    """An observer of a run: `watch` before a readout is fitted, `record` after it."""

    def watch(self, run: Run, trained: Floats) -> FeatureWatch:
        """Return what watches the features of this first layer."""
        ...

    def record(
        self,
        run: Run,
        step: int,
        taken: StepTaken | None,
        watch: FeatureWatch,
        metrics: dict[str, Floats],
    ) -> None:
        """Record the state after a step."""


class TrialRun:
    """A trial that goes on step by step; what was measured after a step stays."""

    def __init__(
        self,
        run: Run,
        models: Sequence[Model],
        shared: Shared | None = None,
        observer: StepObserver | None = None,
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
                with section(0.0, STEP_SHARE):
                    while self.run.state.step < step:
                        taken = self.run.advance()
                with section(STEP_SHARE, 1.0):
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
        with section(0.0, FIT_SHARE):
            fits = fit_models(instance, matrix, maps, step=step, shared=self._shared, watch=watch)
        with section(FIT_SHARE, 1.0):
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
        report(len(fits) / len(maps))
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
        report(seen / drawn.size)
        preactivations = batch.inputs @ first_layer.T
        labels = class_targets(instance, batch) if classes else batch.labels
        for key, feature_map in maps.items():
            phi = features(feature_map, batch, preactivations, noise[key])
            sums[key].add(phi, labels)
            if watch is not None and key == NETWORK.key:
                watch.add(batch.inputs, phi)
                watch.sums = sums[key]
    return {key: readout_from_sums(instance.problem, sums[key]) for key in maps}
