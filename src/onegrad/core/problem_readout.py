"""The readouts of all models on their features: by the loss, with one output or one per class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from onegrad.core.batches import HELD_BYTES, Batch, BatchDraw
from onegrad.core.convex_readout import loss_readout
from onegrad.core.draw_cache import Shared
from onegrad.core.instance import FRESH, Instance
from onegrad.core.models import NETWORK
from onegrad.core.problem import Problem
from onegrad.core.readout import (
    FeatureSums,
    FittedReadout,
    readouts_from_sums,
    ridge_readout,
    ridge_readouts,
)
from onegrad.describe.numbers import Floats, Normals
from onegrad.machine.progress import report
from onegrad.moments.feature_laws import FeatureMap, Points

if TYPE_CHECKING:
    from onegrad.core.feature_watch import FeatureWatch


@dataclass(frozen=True)
class ClassReadout:
    """One readout per class, +1 against −1 for all others; the largest output names the class."""

    outputs: tuple[FittedReadout, ...]
    train_misclassification: Floats | None = None

    @property
    def weights(self) -> Floats:
        """ŵ side by side, k × (outputs · penalties), the penalties of one output together."""
        return np.concatenate([output.weights for output in self.outputs], axis=1)

    def metrics(self) -> dict[str, Floats]:
        """Return the training metrics by name, as means over the outputs."""
        each = [replace(output, train_misclassification=None).metrics() for output in self.outputs]
        means = {name: np.mean([part[name] for part in each], axis=0) for name in each[0]}
        rate = self.train_misclassification
        return means if rate is None else {**means, "train_misclassification": rate}


ProblemReadout = FittedReadout | ClassReadout


def counted_labels(instance: Instance, batch: Batch) -> Floats:
    """Return the labels that errors are counted against: nothing taken off, no additive noise.

    Flips are in them. Noisy class labels are those of the components.
    """
    problem = instance.problem
    if problem.noisy and problem.teacher.reads_labels:
        by_component = np.array(instance.population.labels, dtype=float)
        return np.repeat(by_component, batch.counts)
    whole = batch.labels + instance.subtracted.of(batch.inputs)
    return np.sign(whole) if problem.binary else whole


def class_targets(instance: Instance, batch: Batch) -> Floats:
    """Return +1 for the class of each sample and −1 for all others, samples × classes."""
    labels = counted_labels(instance, batch)
    return np.where(labels[:, None] == np.array(instance.problem.classes), 1.0, -1.0)


def fit_models(
    instance: Instance,
    first_layer: Floats,
    maps: dict[str, FeatureMap],
    *,
    step: int = 1,
    shared: Shared | None = None,
    watch: FeatureWatch | None = None,
) -> dict[str, ProblemReadout]:
    """Return every model's readout on its features, from one product of inputs and first layer.

    `watch` sees the network's features.
    """
    draws, drawn = shared or FRESH, instance.readout_draw(step)
    noise = {key: draws.model_noise(instance, key) for key in maps}
    large = not drawn.held or 8.0 * drawn.size * len(first_layer) > HELD_BYTES
    if large and instance.problem.readout.loss == "square":
        return _streamed_fits(instance, drawn, first_layer, maps, noise, watch)
    batch = draws.readout_batch(instance, step)
    preactivations = batch.inputs @ first_layer.T
    fits = {}
    for key, feature_map in maps.items():
        phi = features(feature_map, batch, preactivations, noise[key])
        fits[key] = readout_on_features(instance, batch, phi)
        if watch is not None and key == NETWORK.key:
            watch.sums = FeatureSums.empty(len(first_layer))
            watch.sums.add(phi, batch.labels)
            watch.add(batch.inputs, phi)
        del phi  # before the next model's are made
        report(len(fits) / len(maps))
    return fits


def features(feature_map: FeatureMap, batch: Batch, preactivations: Floats, rng: Normals) -> Floats:
    """Return the features of a batch, component by component if the model distinguishes them."""
    blocks = list(batch.components())
    if feature_map.basis(blocks[0][0]) is None:
        return feature_map.features(Points(blocks[0][0], preactivations), rng)
    parts = [
        Points.of(feature_map, component, batch.inputs[rows], preactivations[rows])
        for component, rows in blocks
    ]
    return np.concatenate([feature_map.features(points, rng) for points in parts])


def readout_on_features(instance: Instance, batch: Batch, phi: Floats) -> ProblemReadout:
    """Return the readout on a batch's features, with its training misclassification."""
    problem = instance.problem
    if problem.classes:
        return _class_readout(problem, phi, class_targets(instance, batch))
    readout: FittedReadout
    if problem.readout.loss == "square":
        readout = ridge_readout(phi, batch.labels, ridge=problem.ridges)
    else:
        readout = loss_readout(phi, batch.labels, loss=problem.readout.loss, ridge=problem.ridges)
    rate = None
    if problem.binary:
        low = np.reshape(instance.subtracted.of(batch.inputs), (-1, 1))
        margin = counted_labels(instance, batch)[:, None] * (_outputs(phi, readout.weights) + low)
        rate = np.mean(margin < 0, axis=0)
    return replace(readout, train_misclassification=rate)


def _class_readout(problem: Problem, phi: Floats, targets: Floats) -> ClassReadout:
    outputs: tuple[FittedReadout, ...]
    if problem.readout.loss == "square":
        outputs = ridge_readouts(phi, targets, ridge=problem.ridges)
    else:
        outputs = tuple(
            loss_readout(phi, column, loss=problem.readout.loss, ridge=problem.ridges)
            for column in targets.T
        )
    readout = ClassReadout(outputs)
    wrong = wrong_classes(_outputs(phi, readout.weights), targets)
    return replace(readout, train_misclassification=wrong / len(phi))


def wrong_classes(outputs: Floats, targets: Floats) -> Floats:
    """Return how many rows of outputs (rows × outputs · penalties) are largest at another class."""
    by_class = outputs.reshape(*targets.shape, -1)
    chosen = np.argmax(by_class, axis=1)
    return np.sum(chosen != np.argmax(targets, axis=1)[:, None], axis=0).astype(float)


def _outputs(phi: Floats, weights: Floats) -> Floats:
    """Return ŵᵀφ/√k in the features' precision: its sign or order is all that counts."""
    return phi @ (weights / np.sqrt(len(weights))).astype(phi.dtype)


def _streamed_fits(
    instance: Instance,
    drawn: BatchDraw,
    first_layer: Floats,
    maps: dict[str, FeatureMap],
    noise: dict[str, Normals],
    watch: FeatureWatch | None,
) -> dict[str, ProblemReadout]:
    """Return every model's readout by squares from sums over blocks of a large batch.

    No sample is counted as misclassified, because the features are never in memory together.
    """
    classes, ridges = instance.problem.classes, instance.problem.ridges
    outputs = (len(classes),) if classes else ()
    sums = {key: FeatureSums.empty(len(first_layer), *outputs) for key in maps}
    # One component at a time: so the noise of models that distinguish them is drawn for whole ones.
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
    fits = {key: readouts_from_sums(sums[key], ridge=ridges) for key in maps}
    return {key: ClassReadout(fit) if classes else fit[0] for key, fit in fits.items()}
