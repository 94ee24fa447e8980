"""Readouts by convex losses in the closed theory: the law of outputs at one point (m, λ).

Unknown per type of sample: mean a_s and variance v_s of the output u of a sample that ŵ has not
seen, its reach δ_s, and ψ_s, its covariance with z. With x = prox(u), f = ℓ'(y, x), over u, z and y

    p̃ = p E f_u,  h_A = Σ p (a E f_u − E f) P^A,  h = Σ p (ψ E f_u − E[z f]) P
    v = Var(w̄ᵀφ | s) + T(p E f²) − exact counts

and all else is the equivalent of the square loss, which sees p̃, h_A and h alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from onegrad.calculus.expectations import hermite_coefficients
from onegrad.calculus.fixed_point import fixed_point
from onegrad.calculus.function import Function
from onegrad.calculus.label_responses import Outputs, Responses, TypeLabels, losses, responses
from onegrad.calculus.losses import NamedLoss
from onegrad.calculus.prediction import (
    CORNER_ERROR,
    few_margins_bend,
    loss_notes,
    small_rate_notes,
)
from onegrad.closed.equivalent import Equations, Equivalent
from onegrad.closed.label_law import LabelLaw, LabelMoments
from onegrad.closed.nodes import SamplePoints
from onegrad.closed.reliability import LossReliability, PointIndicators
from onegrad.closed.response import CountsCorrection, Fit, WeightResponse, counts_correction
from onegrad.closed.setting import Frame
from onegrad.describe.exceptions import NotConverged
from onegrad.describe.numbers import Floats

TOLERANCE = 1e-7  # of means in deviations, and of logarithms
MOST_ITERATIONS = 300
SMALLEST_VARIANCE = 1e-300


@dataclass(frozen=True)
class ReadoutLoss:
    """What is fitted: labels of the types, loss, and whether components have exact counts."""

    labels: TypeLabels
    loss: NamedLoss
    exact_counts: bool


@dataclass(frozen=True)
class ConvexPoint:
    """The law of outputs at one point; arrays are over types of samples."""

    solution: Equivalent
    output: Floats  # a_s
    slope: Floats  # ψ_s
    variance: Floats  # v_s
    own_variance: Floats  # of it, that of the mean weights
    counts: CountsCorrection
    norm: float  # E‖ŵ‖²

    @property
    def reach(self) -> Floats:
        """δ_s."""
        return self.solution.delta[0]

    @property
    def bent(self) -> float:
        """The share of margins where the loss bends."""
        return float(np.sum(self.solution.kept * self.solution.delta))


def convex_point(
    equations: Equations, readout: ReadoutLoss, samples: float, ridge: float
) -> ConvexPoint:
    """Return the solution at one point (m, λ) of one grid."""
    passes = _Passes(equations, readout, samples, ridge)
    start = np.zeros((4 if passes.reads else 3) * len(passes.weights))
    x, iterations, residual = fixed_point(
        passes.image, start, tolerance=TOLERANCE, most=MOST_ITERATIONS
    )
    if not residual < TOLERANCE:
        raise NotConverged(
            f"method='closed': the law of outputs did not converge in {iterations} iterations "
            f"(residual {residual:.1g}); raise the ridge, or simulate"
        )
    passes.image(x)
    return passes.point


class _Passes:
    """One pass after the other; τ of the last one is where the next begins."""

    point: ConvexPoint

    def __init__(
        self, equations: Equations, readout: ReadoutLoss, samples: float, ridge: float
    ) -> None:
        self.equations, self.readout = equations, readout
        self.samples, self.ridge = np.array([samples]), np.array([ridge])
        labels = readout.labels
        self.weights = equations.grid.sample_weights[0]
        deviations = labels.deviations
        self.reads = deviations is not None and bool(np.any(deviations)) and not labels.fixed
        self.read = deviations if self.reads and deviations is not None else 0 * self.weights
        self.tau = equations.first_tau(self.weights[None], self.ridge)

    def image(self, x: Floats) -> tuple[Floats, Floats]:
        """Return (a, log v, log δ, ψ) after one pass, and the units of their residuals."""
        parts = x.reshape(-1, len(self.weights))
        slope = parts[3] if self.reads else np.zeros_like(self.weights)
        before = Outputs(parts[0], np.exp(parts[1]), np.exp(parts[2]), self.read * slope)
        f = responses(self.readout.labels, self.readout.loss, before)
        self.point = point = self._answer(f, before.mean)
        now = [point.output, np.log(point.variance), np.log(point.reach)]
        deviation = np.sqrt(point.variance)
        units = [deviation, np.ones_like(deviation), np.ones_like(deviation)]
        if self.reads:
            now, units = [*now, point.slope], [*units, deviation]
        return np.concatenate(now), np.concatenate(units)

    def _answer(self, f: Responses, centre: Floats) -> ConvexPoint:
        """Return the law of outputs of a readout whose loss answers like this."""
        p = self.weights
        solution = self.equations.answer((p * f.slope)[None], self.samples, self.ridge, self.tau)
        self.tau = solution.tau
        response = WeightResponse(solution)
        targets, slopes = p * (f.slope * centre - f.mean), -p * f.pull * self.read
        fit = Fit.to(response, targets[None], slopes[None])
        counts = counts_correction(response, fit, exact=self.readout.exact_counts)
        own, force = fit.variance(response), (p * f.square)[None]
        variance = own - counts.error + response.carried(force)
        return ConvexPoint(
            solution,
            fit.output[0],
            fit.covariance[0],
            np.maximum(variance[0], SMALLEST_VARIANCE),
            own[0],
            counts,
            float((fit.norm(response, force) - counts.norm)[0]),
        )


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
    indicators: PointIndicators
    losses: tuple[LossReliability, ...]


def convex_errors(
    equations: Equations, readout: ReadoutLoss, samples: Floats, ridges: Floats
) -> ConvexErrors:
    """Return the errors at points (m, λ), one for each entry of both."""
    points = [
        convex_point(equations, readout, float(m), float(ridge))
        for m, ridge in zip(samples, ridges, strict=True)
    ]
    rows = [_metrics(point, readout) for point in points]
    indicators = [
        PointIndicators.of(point.solution, np.array([row["test_mse"]]), _bias(point))
        for point, row in zip(points, rows, strict=True)
    ]
    return ConvexErrors(
        {name: np.array([row[name] for row in rows]) for name in rows[0]},
        PointIndicators.joined(indicators),
        tuple(
            _reliability(readout.loss, point, row) for point, row in zip(points, rows, strict=True)
        ),
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


def _reliability(loss: NamedLoss, point: ConvexPoint, metrics: dict[str, float]) -> LossReliability:
    largest = float(np.max(point.variance))
    notes = loss_notes(loss, bent=point.bent, largest_variance=largest)
    least = CORNER_ERROR if few_margins_bend(loss, point.bent) else 0.0
    return LossReliability((*notes, *small_rate_notes(metrics)), least)
