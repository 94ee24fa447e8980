"""The errors of readouts by convex losses at points (m, λ), from the laws of their outputs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from onegrad.calculus.expectations import hermite_coefficients
from onegrad.calculus.function import Function
from onegrad.calculus.loss_failures import (
    CORNER_ERROR,
    few_margins_bend,
    loss_failures,
    small_rate_failures,
)
from onegrad.calculus.losses import NamedLoss
from onegrad.calculus.type_labels import Outputs, TypeLabels, losses
from onegrad.describe.arrays import Floats
from onegrad.theory.closed.convex_point import ConvexPoint, ReadoutLoss, convex_point
from onegrad.theory.closed.doubts import LossDoubts, PointDoubts
from onegrad.theory.closed.equivalent import Equations
from onegrad.theory.closed.frame import Frame
from onegrad.theory.closed.label_law import LabelLaw, LabelMoments
from onegrad.theory.closed.sample_points import SamplePoints


@dataclass(frozen=True)
class ReadLabel:
    """A label that reads one projection: its law as `TypeLabels` asks for it."""

    law: LabelLaw

    @property
    def link(self) -> Function | None:
        """The link, where the label is a function of the projection."""
        return None if self.law.signs else self.law.link

    def coefficients_at(self, means: Floats, deviations: Floats, order: int) -> Floats:
        """Return E[y H_l(z)]/√l! where the projection is means + deviations·z."""
        assert self.law.link is not None
        return hermite_coefficients(self.law.link, means, deviations, order=order)


def labels_of_types(
    law: LabelLaw, frame: Frame, samples: SamplePoints, moments: LabelMoments, *, binary: bool
) -> TypeLabels:
    """Return the labels of sample types, as a loss asks for them."""
    labels = TypeLabels(
        samples.weights,
        samples.part.astype(float),
        moments(1),
        np.maximum(moments(2) - moments(1) ** 2, 0.0),
        binary=binary,
        noise=law.noise,
    )
    if law.by_component:
        return labels
    return replace(
        labels,
        centres=samples.centres(frame),
        deviations=frame.reads_off * np.sqrt(samples.level),
        teacher=ReadLabel(law),
    )


@dataclass(frozen=True)
class ConvexErrors:
    """Metrics by name, and how sure they are, at all points of a question."""

    metrics: dict[str, Floats]
    doubts: PointDoubts
    losses: tuple[LossDoubts, ...]


def convex_errors(
    equations: Equations, readout: ReadoutLoss, samples: Floats, ridges: Floats
) -> ConvexErrors:
    """Return the errors at points (m, λ), one for each entry of both."""
    points = [
        convex_point(equations, readout, float(m), float(ridge))
        for m, ridge in zip(samples, ridges, strict=True)
    ]
    rows = [_metrics(point, readout) for point in points]
    doubts = [
        PointDoubts.of(point.solution, np.array([row["test_mse"]]), _bias(point))
        for point, row in zip(points, rows, strict=True)
    ]
    return ConvexErrors(
        {name: np.array([row[name] for row in rows]) for name in rows[0]},
        PointDoubts.joined(doubts),
        tuple(_doubts(readout.loss, point, row) for point, row in zip(points, rows, strict=True)),
    )


def _metrics(point: ConvexPoint, readout: ReadoutLoss) -> dict[str, float]:
    """Return losses, squared errors, rates where labels are signs, ‖ŵ‖² and objective."""
    labels, p = readout.labels, readout.labels.weights
    deviations = labels.deviations
    projection = 0 * p if deviations is None else deviations * point.slope
    fresh = Outputs(point.output, point.variance, np.zeros_like(p), projection)
    own = Outputs(point.output + point.counts.shift[0], point.variance, point.reach, projection)
    test, train = (losses(labels, readout.loss, outputs) for outputs in (fresh, own))
    train_loss = float(p @ train.train_loss)
    ridge = float(point.solution.ridges[0])
    rates = {
        "misclassification": float(p @ test.test_misclassification),
        "train_misclassification": float(p @ train.train_misclassification),
    }
    return {
        "test_mse": float(p @ test.test_mse),
        "train_mse": float(p @ train.train_mse),
        "objective": train_loss + 0.5 * ridge * point.norm,
        "squared_weight_norm": point.norm,
        "test_loss": float(p @ test.test_loss),
        "train_loss": train_loss,
        **(rates if labels.binary else {}),
    }


def _bias(point: ConvexPoint) -> Floats:
    """Return the squared error of the mean weights, as an array of one point."""
    grid = point.solution.grid
    h0, h1, h2 = grid.label(1), grid.label(1, 1), grid.label(2)
    own = h2 - 2 * h0 * point.output - 2 * h1 * point.slope + point.output**2
    return np.asarray(np.sum(grid.sample_weights * (own + point.own_variance), axis=1))


def _doubts(loss: NamedLoss, point: ConvexPoint, metrics: dict[str, float]) -> LossDoubts:
    """Return what is known to fail for the loss at this point."""
    largest = float(np.max(point.variance))
    notes = loss_failures(loss, bent=point.bent, largest_variance=largest)
    small = small_rate_failures(metrics.get("train_misclassification", 1.0))
    least = CORNER_ERROR if few_margins_bend(loss, point.bent) else 0.0
    return LossDoubts((*notes, *small), least)
