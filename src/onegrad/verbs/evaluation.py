"""Test errors of fitted models: exact from population moments, or over sampled points."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from onegrad.calculus.loss_expectations import output_rule
from onegrad.calculus.losses import NamedLoss, get_loss
from onegrad.describe.arrays import Floats
from onegrad.models.feature_map import FeatureMap, Points
from onegrad.moments.exact_errors import exact_test_mse
from onegrad.training.instance import Instance
from onegrad.training.readout import FittedReadout
from onegrad.verbs.step_axis import Metrics


def measure_errors(
    instance: Instance,
    first_layer: Floats,
    maps: dict[str, FeatureMap],
    fits: dict[str, FittedReadout],
) -> dict[str, Metrics]:
    """Return test_mse by the problem's rule, and what only sampled points tell.

    That is the misclassification of ±1 labels, and the test loss where it is not the square.
    """
    problem = instance.problem
    results: dict[str, Metrics] = {key: {} for key in maps}
    if problem.test == "sampled" or problem.binary or problem.readout.loss != "square":
        results = sampled_errors(instance, first_layer, maps, fits)
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
    fits: dict[str, FittedReadout],
) -> dict[str, Metrics]:
    """Return test errors over fresh points, in blocks of bounded memory; noise is integrated out.

    One product of inputs and first layer serves all models.
    """
    loss = get_loss(instance.problem.readout.loss)
    names = ["test_mse", *(["misclassification"] if instance.problem.binary else [])]
    names += ["test_loss"] if loss.name != "square" else []
    sums = {key: {name: np.zeros(len(fits[key].ridge)) for name in names} for key in maps}
    for batch in instance.test_blocks():
        component, _ = next(batch.components())
        preactivations = batch.inputs @ first_layer.T
        low = np.reshape(instance.subtracted.of(batch.inputs), (-1, 1))
        for key, feature_map in maps.items():
            points = Points.of(feature_map, component, batch.inputs, preactivations)
            mean, variance = feature_map.predictions(points, fits[key].weights)
            error = batch.labels[:, None] - mean
            sums[key]["test_mse"] += np.sum(error**2 + variance, axis=0)
            if loss.name != "square":
                sums[key]["test_loss"] += _total_loss(loss, batch.labels, mean, variance)
            if instance.problem.binary:
                # Against the class itself, not against its noisy label.
                sign = instance.population.labels[component] or 0.0
                margin = sign * (mean + low)
                sums[key]["misclassification"] += _misclassified(margin, variance)
    size = instance.problem.samples_in_test
    return {key: {name: s / size for name, s in named.items()} for key, named in sums.items()}


def _total_loss(loss: NamedLoss, labels: Floats, mean: Floats, variance: Floats) -> Floats:
    """Return Σ E ℓ(y, mean + noise) over rows, noise of this variance."""
    y = np.broadcast_to(labels[:, None], mean.shape)
    if not np.any(variance > 0):
        return np.sum(loss.value(y, mean), axis=0)
    flat = y.ravel(), mean.ravel()
    outputs, weights = output_rule(
        loss, *flat, variance=variance.ravel(), gamma=np.zeros(mean.size)
    )
    expected = np.sum(weights * loss.value(flat[0][:, None], outputs), axis=1)
    return np.sum(expected.reshape(mean.shape), axis=0)


def _misclassified(margin: Floats, variance: Floats) -> Floats:
    """Return Σ P(margin + noise ≤ 0) over rows, noise of this variance."""
    deviation = np.sqrt(variance)
    certain = np.where(margin > 0, 0.0, 1.0)
    noisy = ndtr(-margin / np.where(deviation > 0, deviation, 1.0))
    return np.sum(np.where(deviation > 0, noisy, certain), axis=0)
