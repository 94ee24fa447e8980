"""One trial: draw, step, fit every model's readout, and measure its errors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onegrad.describe.arrays import Floats, Normals
from onegrad.describe.exceptions import require_finite
from onegrad.models.feature_map import FeatureMap, Points
from onegrad.models.model import Model
from onegrad.problem.problem import Problem
from onegrad.training.instance import Batch, Instance, draw
from onegrad.training.readout import Readout, fit_readout
from onegrad.training.reuse import Shared, first_layers
from onegrad.training.streams import Stream
from onegrad.verbs.evaluation import Metrics, measure_errors


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
    # Overflow is not hidden: every result is checked for it at the end.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        results = _run_trial(problem, models, seed=seed, trial=trial, shared=shared)
    for model in models:
        require_finite(model.name, results[model.name])
    return results


def _run_trial(
    problem: Problem, models: Sequence[Model], *, seed: int, trial: int, shared: Shared | None
) -> dict[str, Metrics]:
    instance = draw(problem, seed=seed, trial=trial)
    layers, trained = first_layers(instance, shared)
    batch = instance.training_batch() if shared is None else shared.training_batch(instance)
    results: dict[str, Metrics] = {}
    for which, matrix in (("trained", trained), ("initial", layers.first)):
        chosen = {m.key: m for m in models if m.first_layer == which}
        if not chosen:
            continue
        maps = {key: m.feature_map(instance, layers, trained) for key, m in chosen.items()}
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
    batch: Batch,
    first_layer: Floats,
    maps: dict[str, FeatureMap],
    *,
    shared: Shared | None = None,
) -> dict[str, Readout]:
    """Return every model's readout from one product of inputs and first layer."""
    preactivations = batch.inputs @ first_layer.T
    fits = {}
    for key, feature_map in maps.items():
        drawn = instance.streams.generator(Stream.MODEL_NOISE, key)
        rng: Normals = drawn
        if shared is not None:
            rng = shared.replayed(drawn, key, instance.streams.key(Stream.MODEL_NOISE))
        phi = features(feature_map, batch, preactivations, rng)
        fits[key] = fit_readout(phi, batch.labels, ridge=instance.problem.ridges)
        del phi  # before the next model's are made
    return fits
