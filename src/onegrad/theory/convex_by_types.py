"""Readouts by convex losses, by types.

Unknown per type: mean a_t, variance v_t and reach γ_t of u at a point that ŵ has not seen, and r_t,
its covariance with the projection s that the label reads. With x = prox(u), f = ℓ'(y, x), over u
and s: f̄ = E f, ζ = E ∂f/∂u, χ = E f², h = (E[(s − s̄)f] − rζ)/σ²; then

    w̄ = Q {Σ p_t[(ζ_ta_t − f̄_t)ν_t − h_tc_t] − Σ_c Σ_{t∈c} p_tζ_tM_t d_c}
    Q = (λI + Σ p_tζ_tM_t)^{-1}
    e_c = (1/ρ_c) Σ_{t∈c} p_t[f̄_tν_t + ζ_tΣ_tw_c + h_tc_t],  d_c = Qe_c/m,  C as for ridge

and a_t, v_t, γ_t follow as there, r_t = c_tᵀw_c. Test errors are those of u, training errors those
of prox(u).
"""

from __future__ import annotations

import numpy as np

from onegrad.calculus.anderson import fixed_point
from onegrad.calculus.losses import NamedLoss
from onegrad.calculus.type_labels import Outputs, Responses, correlation, losses, responses
from onegrad.describe.arrays import Floats
from onegrad.theory.by_types import (
    MOST_ITERATIONS,
    ByTypes,
    Response,
    TypeAlgebra,
    require_converged,
)

TOLERANCE = 1e-6  # of means in deviations, and of logarithms
SMALLEST_VARIANCE = 1e-300


class ConvexByTypes(ByTypes):
    """The fixed point of one loss, m and λ, and the state of its last pass."""

    def __init__(
        self, algebra: TypeAlgebra, samples: int, ridge: float, *, loss: NamedLoss
    ) -> None:
        super().__init__(algebra, samples, ridge)
        self.loss, self.shift = loss, self.no_shift
        self.reads = self.labels.centres is not None and not self.labels.fixed
        start = np.zeros((4 if self.reads else 3) * len(self.weights))
        _, iterations, residual = fixed_point(
            self._image, start, tolerance=TOLERANCE, most=MOST_ITERATIONS
        )
        require_converged("law of outputs", residual, iterations, tolerance=TOLERANCE)
        self._image(self._joined(self.now))

    def _image(self, x: Floats) -> tuple[Floats, Floats]:
        """Return (a, log v, log γ, r) after one pass, and the units of their residuals."""
        parts = x.reshape(-1, len(self.weights))
        before = Outputs(
            parts[0],
            np.exp(parts[1]),
            np.exp(parts[2]),
            parts[3] if self.reads else np.zeros(len(self.weights)),
        )
        f = responses(self.labels, self.loss, before)
        pull = self.weights * f.slope
        response = self.algebra.respond(pull, self.ridge)
        self._move(response, pull, f, before.mean)
        spread = response.spread(self.samples, shares=self.shares, shift=self.shift)
        self.spread, self.force = spread, self.weights * f.square
        self.bent = float(np.sum(pull * before.reach))  # share of margins where the loss bends
        self.variance = np.maximum(spread.fixed + spread.variances(self.force), SMALLEST_VARIANCE)
        self.now = self._outputs(self.shift, response.reach / self.samples)
        return self._joined(self.now), self._units(self.now)

    def _outputs(self, shift: Floats, reach: Floats) -> Outputs:
        law = self.law(self.mean, shift)
        return Outputs(law.mean, law.variance + self.variance, reach, law.projection)

    def _joined(self, outputs: Outputs) -> Floats:
        parts = [outputs.mean, np.log(outputs.variance), np.log(outputs.reach)]
        return np.concatenate([*parts, *([outputs.projection] if self.reads else [])])

    def _units(self, outputs: Outputs) -> Floats:
        deviation, ones = np.sqrt(outputs.variance), np.ones_like(outputs.mean)
        parts = [deviation, ones, ones]
        if self.reads and self.labels.deviations is not None:
            parts.append(np.maximum(self.labels.deviations, 1e-12) * deviation)
        return np.concatenate(parts)

    def _move(self, response: Response, pull: Floats, f: Responses, centre: Floats) -> None:
        """Set w̄ and d_c from this pass's statistics and the last d_c."""
        p = self.weights
        right = self.total(p * (f.slope * centre - f.mean), projection=-p * f.pull)
        self.mean = response.solve(right - self.pulled(pull, self.shift))
        forces = []
        for c, (place, moved) in enumerate(zip(self.places, self.mean + self.shift, strict=True)):
            own = self.algebra.combined(c, (p * f.mean)[place], projection=(p * f.pull)[place])
            forces.append(own + self.algebra.covariances_times(c, pull[place], moved))
        self.shift = self.shifts(response, forces)

    def errors(self) -> dict[str, float]:
        """Return losses, squared errors, rates where labels are signs, ‖ŵ‖² and objective."""
        labels = self.labels
        fresh = self._outputs(self.no_shift, np.zeros_like(self.now.reach))  # moves no weights
        test = losses(labels, self.loss, fresh)
        train = losses(labels, self.loss, self.now)
        norm = float(self.mean @ self.mean) + self.spread.trace(self.force)
        train_loss = float(self.weights @ train.train_loss)
        rates = {
            "misclassification": float(labels.weights @ test.test_misclassification),
            "train_misclassification": float(self.weights @ train.train_misclassification),
        }
        return {
            "test_mse": float(labels.weights @ test.test_mse),
            "train_mse": float(self.weights @ train.train_mse),
            "objective": train_loss + 0.5 * self.ridge * norm,
            "squared_weight_norm": norm,
            "test_loss": float(labels.weights @ test.test_loss),
            "train_loss": train_loss,
            **(rates if labels.binary else {}),
        }

    @property
    def reach(self) -> Floats:
        """γ_t."""
        return self.now.reach

    @property
    def correlation(self) -> float:
        """The largest share of s that u explains."""
        return correlation(self.labels, self.now) if self.reads else 0.0
