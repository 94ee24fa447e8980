"""One trial: draw, step, fit every model's readout, and measure its errors."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from onegrad import activations
from onegrad.conditional import conditional_map
from onegrad.data.mixture import GRANULE
from onegrad.equivalents import FeatureMap, HermiteMap, Model, NetworkMap, Normals, parse_model
from onegrad.hermite import expand
from onegrad.instance import Batch, Instance, draw
from onegrad.moments import exact_test_mse
from onegrad.network import Layers, gradient_step, initialise, step_preactivations
from onegrad.problem import Problem
from onegrad.randomness import Stream
from onegrad.readout import Readout, fit_readout

Floats = NDArray[np.floating]
Metrics = dict[str, Floats]
T = TypeVar("T")


@dataclass
class Shared:
    """Draws and products that several problems of one trial have in common.

    Pass one to consecutive `run_trial` calls: activations share data, first layer and the step's
    pre-activations. Only the latest value of each kind is kept. Results do not depend on it.
    """

    _held: dict[str, tuple[Hashable, Any]] = field(default_factory=dict)

    def get(self, kind: str, key: Hashable, make: Callable[[], T]) -> T:
        """Return the held value of this kind if its key is the same, else make and hold it."""
        held = self._held.get(kind)
        if held is None or held[0] != key:
            self._held.pop(kind, None)  # free before making the next
            self._held[kind] = held = (key, make())
        value: T = held[1]
        return value


@dataclass
class Replayed:
    """Standard normals of one stream, kept for the next problem that draws the same."""

    shared: Shared
    rng: np.random.Generator
    key: Hashable
    calls: int = 0

    def standard_normal(self, size: tuple[int, ...]) -> Floats:
        """Return what the generator would at this call."""
        self.calls += 1
        kind = f"normals {self.key} {self.calls}"
        return self.shared.get(kind, size, lambda: self.rng.standard_normal(size))


def resolve_models(problem: Problem, names: Sequence[str], *, seed: int = 0) -> list[Model]:
    """Return the models by name; the default Hermite degree is that of the seed's trial 0."""
    degree = draw(problem, seed=seed).scales.degree
    return [parse_model(name, default_degree=degree) for name in names]


def run_trial(
    problem: Problem,
    models: Sequence[Model],
    *,
    seed: int = 0,
    trial: int = 0,
    shared: Shared | None = None,
) -> dict[str, Metrics]:
    """Return the metrics of every model, each an array over the penalties.

    A model's numbers are the same whichever others are asked for.
    """
    instance = draw(problem, seed=seed, trial=trial)
    layers, trained = _first_layers(instance, shared)
    batch = _held(instance, shared, "training", Stream.TRAINING_DATA, instance.training_batch)
    results: dict[str, Metrics] = {}
    for which, matrix in (("trained", trained), ("initial", layers.first)):
        chosen = {m.key: m for m in models if m.first_layer == which}
        if not chosen:
            continue
        maps = {key: feature_map(m, instance, layers, trained) for key, m in chosen.items()}
        fits = _fit_all(instance, batch, matrix, maps, shared)
        errors = test_errors(instance, matrix, maps, fits)
        for model in models:
            if model.first_layer == which:
                fit = fits[model.key]
                results[model.name] = {
                    **errors[model.key],
                    "train_mse": fit.train_mse,
                    "objective": fit.objective,
                    "squared_weight_norm": fit.squared_norm,
                }
    return {model.name: results[model.name] for model in models}


def feature_map(model: Model, instance: Instance, layers: Layers, trained: Floats) -> FeatureMap:
    """Return what the model does with pre-activations of its first layer."""
    activation = activations.get(instance.problem.network.activation)
    if model.kind == "hermite":
        assert model.degree is not None
        scale = instance.scales.bulk_deviation
        return HermiteMap(expand(activation, scale, degree=model.degree))
    if model.kind == "conditional":
        return conditional_map(activation, instance.mixture, layers.first, trained)
    return NetworkMap(activation)


def features(
    feature_map: FeatureMap, batch: Batch, preactivations: Floats, rng: Normals
) -> Floats:
    """Return the features of a batch, component by component where the model tells them apart."""
    blocks = list(batch.components())
    if feature_map.basis(blocks[0][0]) is None:
        return feature_map.features(preactivations, None, blocks[0][0], rng)
    parts = []
    for component, rows in blocks:
        basis = feature_map.basis(component)
        coordinates = batch.inputs[rows] @ basis
        parts.append(feature_map.features(preactivations[rows], coordinates, component, rng))
    return np.concatenate(parts)


def test_errors(
    instance: Instance,
    first_layer: Floats,
    maps: dict[str, FeatureMap],
    fits: dict[str, Readout],
    *,
    chunk: int = GRANULE,
) -> dict[str, Metrics]:
    """Return test_mse by the problem's rule, and for ±1 labels the sampled misclassification."""
    problem = instance.problem
    results: dict[str, Metrics] = {key: {} for key in maps}
    if problem.test == "sampled" or problem.binary:
        results = sampled_errors(instance, first_layer, maps, fits, chunk=chunk)
    if problem.test == "exact":
        exact = exact_test_mse(
            instance.mixture,
            instance.teacher,
            first_layer,
            models=[(maps[key], fits[key].weights) for key in maps],
        )
        for key, value in zip(maps, exact, strict=True):
            results[key]["test_mse"] = value
    return results


def sampled_errors(
    instance: Instance,
    first_layer: Floats,
    maps: dict[str, FeatureMap],
    fits: dict[str, Readout],
    *,
    chunk: int = GRANULE,
) -> dict[str, Metrics]:
    """Return test errors over fresh points, in memory O(chunk·(n + k)); noise is integrated out."""
    names = ["test_mse", *(["misclassification"] if instance.problem.binary else [])]
    sums = {key: {name: np.zeros(len(fits[key].ridge)) for name in names} for key in maps}
    for batch in instance.test_blocks(chunk=chunk):
        component, _ = next(batch.components())
        preactivations = batch.inputs @ first_layer.T
        for key, one in maps.items():
            basis = one.basis(component)
            coordinates = None if basis is None else batch.inputs @ basis
            mean, variance = one.predictions(
                preactivations, coordinates, component, fits[key].weights
            )
            error = batch.labels[:, None] - mean
            sums[key]["test_mse"] += np.sum(error**2 + variance, axis=0)
            if instance.problem.binary:
                sign = np.sign(batch.labels)[:, None]
                sums[key]["misclassification"] += _misclassified(sign * mean, variance)
    size = instance.problem.test_size
    return {key: {name: s / size for name, s in named.items()} for key, named in sums.items()}


def _misclassified(margin: Floats, variance: Floats) -> Floats:
    """Return Σ P(margin + noise ≤ 0) over rows, noise of this variance."""
    deviation = np.sqrt(variance)
    certain = np.where(margin > 0, 0.0, 1.0)
    noisy = ndtr(-margin / np.where(deviation > 0, deviation, 1.0))
    total: Floats = np.sum(np.where(deviation > 0, noisy, certain), axis=0)
    return total


def _held(
    instance: Instance, shared: Shared | None, kind: str, stream: Stream, make: Callable[[], T]
) -> T:
    if shared is None:
        return make()
    p = instance.problem
    size = (p.dimension, p.samples, p.step_size, p.precision)
    source = (p.data, p.teacher, p.scaling)
    return shared.get(kind, (instance.streams.key(stream), size, source), make)


def _first_layers(instance: Instance, shared: Shared | None) -> tuple[Layers, Floats]:
    """Return the initial layers and F̂."""
    problem, rate = instance.problem, instance.scales.learning_rate
    activation = activations.get(problem.network.activation)
    batch = _held(instance, shared, "step", Stream.STEP_DATA, instance.step_batch)
    network = problem.network.model_copy(update={"activation": "relu"})
    if shared is None:
        layers, blocks = initialise(instance), None
    else:
        held = _held(instance, shared, "step key", Stream.STEP_DATA, object)
        key = (held, network, problem.width, instance.streams.key(Stream.FIRST_LAYER))
        layers = shared.get("layers", key, lambda: initialise(instance))
        blocks = shared.get(
            "step preactivations",
            key,
            lambda: list(step_preactivations(layers.first, batch.inputs)),
        )
    trained = gradient_step(
        layers,
        batch.inputs,
        batch.labels,
        activation=activation,
        learning_rate=rate,
        preactivations=blocks,
    )
    return layers, trained


def _fit_all(
    instance: Instance,
    batch: Batch,
    first_layer: Floats,
    maps: dict[str, FeatureMap],
    shared: Shared | None,
) -> dict[str, Readout]:
    """Return every model's readout from one product of inputs and first layer."""
    preactivations = batch.inputs @ first_layer.T
    fits = {}
    for key, one in maps.items():
        rng: Normals = instance.streams.generator(Stream.MODEL_NOISE, key)
        if shared is not None:
            rng = Replayed(shared, rng, (instance.streams.key(Stream.MODEL_NOISE), key))
        phi = features(one, batch, preactivations, rng)
        fits[key] = fit_readout(phi, batch.labels, ridge=instance.problem.ridges)
    return fits
