"""The test errors of fitted readouts: integrated over the mixture, or averaged over test points."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from onegrad.calculus.loss_expectations import output_rule
from onegrad.calculus.losses import NamedLoss, get_loss
from onegrad.core.batches import Batch
from onegrad.core.instance import Instance
from onegrad.core.problem_readout import (
    ProblemReadout,
    class_targets,
    counted_labels,
    wrong_classes,
)
from onegrad.core.streams import Stream
from onegrad.data.teachers import ExpectedSigns
from onegrad.describe.numbers import Floats, Metrics
from onegrad.moments.exact_errors import exact_class_mse, exact_test_mse
from onegrad.moments.feature_laws import FeatureMap, Points


def measure_errors(
    instance: Instance,
    first_layer: Floats,
    maps: dict[str, FeatureMap],
    fits: dict[str, ProblemReadout],
) -> dict[str, Metrics]:
    """Return every model's test_mse by the problem's rule, and what only sampled points can give.

    That is the misclassification, and the test loss if the readout's loss is not the square.
    """
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


def _mean_targets(instance: Instance) -> Floats:
    """Return E[t_j | c] of the targets ±1 of class j, components × classes; flips lower them."""
    labels = np.array(instance.population.labels, dtype=float)[:, None]
    kept = 1 - 2 * instance.problem.teacher.flip_rate
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

    If there are several outputs, these are means over them, one per penalty.
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
