"""Readouts by convex losses without draws: the law of outputs at one point (m, λ).

Unknown per type of sample: mean a_s and variance v_s of the output u of a sample that ŵ has not
seen, its reach δ_s, and ψ_s, its covariance with z. With x = prox(u), f = ℓ'(y, x), over u, z and y

    p̃ = p E f_u,  h_A = Σ p (a E f_u − E f) P^A,  h = Σ p (ψ E f_u − E[z f]) P
    v = Var(w̄ᵀφ | s) + T(p E f²) − exact counts

and all else is the equivalent of the square loss, which sees p̃, h_A and h alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onegrad.calculus.anderson import fixed_point
from onegrad.calculus.losses import NamedLoss
from onegrad.calculus.type_labels import Outputs, Responses, TypeLabels, responses
from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import NotConverged
from onegrad.theory.closed.counts_term import CountsTerm, counts_term
from onegrad.theory.closed.equivalent import Equations, Equivalent
from onegrad.theory.closed.response import Fit, WeightResponse

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
    counts: CountsTerm
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
        counts = counts_term(response, fit, exact=self.readout.exact_counts)
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
