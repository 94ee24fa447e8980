"""The readout that a problem asks for: by its loss, with one output or one per class."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from onegrad.core.batches import Batch
from onegrad.core.convex_readout import loss_readout
from onegrad.core.instance import Instance
from onegrad.core.problem import Problem
from onegrad.core.readout import (
    FeatureSums,
    FittedReadout,
    fit_from_sums,
    outputs_from_sums,
    ridge_readout,
    ridge_readouts,
)
from onegrad.describe.numbers import Floats


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
        """Return what training says, means over the outputs, by the names of results."""
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


def readout_from_features(instance: Instance, batch: Batch, phi: Floats) -> ProblemReadout:
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


def readout_from_sums(problem: Problem, sums: FeatureSums) -> ProblemReadout:
    """Return the readout by squares from sums: features are not held, so no sample is counted."""
    if problem.classes:
        return ClassReadout(outputs_from_sums(sums, ridge=problem.ridges))
    return fit_from_sums(sums, ridge=problem.ridges)
