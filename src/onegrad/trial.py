"""One trial: draw, step, fit every model's readout, and measure its errors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onegrad import activations
from onegrad.arrays import Floats
from onegrad.conditional import conditional_map
from onegrad.equivalents import FeatureMap, HermiteMap, Model, NetworkMap, Normals, parse_model
from onegrad.evaluation import Metrics, measure_errors
from onegrad.hermite import expand
from onegrad.instance import Batch, Instance, draw
from onegrad.network import Layers, gradient_step, initialise
from onegrad.problem import Problem
from onegrad.randomness import Stream
from onegrad.readout import Readout, fit_readout
from onegrad.sharing import Shared


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
    layers, trained = first_layers(instance, shared)
    batch = instance.training_batch() if shared is None else shared.training_batch(instance)
    results: dict[str, Metrics] = {}
    for which, matrix in (("trained", trained), ("initial", layers.first)):
        chosen = {m.key: m for m in models if m.first_layer == which}
        if not chosen:
            continue
        maps = {key: feature_map(m, instance, layers, trained) for key, m in chosen.items()}
        fits = fit_models(instance, batch, matrix, maps, shared=shared)
        errors = measure_errors(instance, matrix, maps, fits)
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


def first_layers(instance: Instance, shared: Shared | None = None) -> tuple[Layers, Floats]:
    """Return the initial layers and the first layer F̂ after the step."""
    if shared is None:
        layers, batch, blocks = initialise(instance), instance.step_batch(), None
    else:
        layers, batch = shared.initialise(instance), shared.step_batch(instance)
        blocks = shared.step_preactivations(instance, layers, batch)
    trained = gradient_step(
        layers,
        batch.inputs,
        batch.labels,
        activation=activations.get(instance.problem.network.activation),
        learning_rate=instance.scales.learning_rate,
        preactivations=blocks,
    )
    return layers, trained


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


def features(feature_map: FeatureMap, batch: Batch, preactivations: Floats, rng: Normals) -> Floats:
    """Return the features of a batch, component by component where the model tells them apart."""
    blocks = list(batch.components())
    if feature_map.basis(blocks[0][0]) is None:
        return feature_map.features(preactivations, None, blocks[0][0], rng)
    parts = []
    for component, rows in blocks:
        basis = feature_map.basis(component)
        assert basis is not None
        coordinates = batch.inputs[rows] @ basis
        parts.append(feature_map.features(preactivations[rows], coordinates, component, rng))
    return np.concatenate(parts)


def fit_models(
    instance: Instance,
    batch: Batch,
    first_layer: Floats,
    maps: dict[str, FeatureMap],
    *,
    shared: Shared | None = None,
) -> dict[str, Readout]:
    """Return every model's readout from one product of inputs and first layer."""
    preactivations = batch.inputs @ first_layer.T
    fits = {}
    for key, one in maps.items():
        drawn = instance.streams.generator(Stream.MODEL_NOISE, key)
        rng: Normals = drawn
        if shared is not None:
            rng = shared.replayed(drawn, (instance.streams.key(Stream.MODEL_NOISE), key))
        phi = features(one, batch, preactivations, rng)
        fits[key] = fit_readout(phi, batch.labels, ridge=instance.problem.ridges)
        del phi  # before the next model's are made
    return fits
