"""Readouts by convex losses, by types that share their covariance: labels are signs by type.

Unknown per type: mean a_t, variance v_t and reach γ_t of u at a point that ŵ has not seen. With
x = prox(u), f = ℓ'(y, x), over u ~ N(a_t, v_t): f̄ = E f, ζ = E ∂f/∂u, χ = E f²; then

    w̄ = Q {Σ p_t(ζ_ta_t − f̄_t)ν_t − Σ_c Σ_{t∈c} p_tζ_tM_t d_c},   Q = (λI + Σ p_tζ_tM_t)^{-1}
    e_c = (1/ρ_c) Σ_{t∈c} p_t[f̄_tν_t + ζ_tτ_tΣ̄w_c],  d_c = Qe_c/m,  C as for ridge

and a_t, v_t, γ_t follow as there. Test errors are those of u, training errors those of prox(u).
"""

from __future__ import annotations

import numpy as np

from onegrad.calculus.loss_expectations import gaussian_losses, gaussian_response
from onegrad.calculus.losses import NamedLoss
from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import InvalidInput
from onegrad.theory.anderson import fixed_point
from onegrad.theory.type_algebra import (
    MOST_ITERATIONS,
    ByTypes,
    ReducedTypes,
    Response,
    Spread,
    require_converged,
)

TOLERANCE = 1e-6  # of means in deviations, and of logarithms
SMALLEST_VARIANCE = 1e-300


class ConvexByTypes(ByTypes):
    """The fixed point of one loss, m and λ, and the state of its last pass."""

    def __init__(
        self, reduced: ReducedTypes, samples: int, ridge: float, *, loss: NamedLoss
    ) -> None:
        super().__init__(reduced, samples, ridge)
        if not reduced.types.signs:
            raise InvalidInput(
                f"readout.loss={loss.name!r}: theory knows labels by component, +1 and -1 without "
                "noise; simulate it"
            )
        self.loss, self.labels = loss, reduced.types.label_means
        self.shift = np.zeros((len(self.kept), len(reduced.diagonal)))
        start = np.zeros(3 * len(self.labels))
        _, iterations, residual = fixed_point(
            self._image, start, tolerance=TOLERANCE, most=MOST_ITERATIONS
        )
        require_converged("law of outputs", residual, iterations, tolerance=TOLERANCE)
        self._image(np.concatenate([self.centre, np.log(self.variance), np.log(self.reach)]))

    def _image(self, x: Floats) -> tuple[Floats, Floats]:
        """Return (a, log v, log γ) after one pass, and the units of their residuals."""
        centre, log_variance, log_reach = np.split(x, 3)
        variance, reach = np.exp(log_variance), np.exp(log_reach)
        f, slope, square = gaussian_response(
            self.loss, self.labels, centre, variance=variance, gamma=reach
        )
        pull = self.weights * slope
        response = Response(self.reduced, pull, self.ridge)
        self._move(response, pull, f, centre * slope - f)
        spread = Spread(response, self.samples, shares=self.shares, shift=self.shift)
        force = self.weights * square
        law = self.law(self.mean, self.shift)
        self.spread = np.maximum(spread.fixed + spread.variances(force), SMALLEST_VARIANCE)
        self.trace = spread.trace(force)
        self.centre, self.variance = law.mean, law.variance + self.spread
        self.reach = response.reach / self.samples
        ones = np.ones_like(centre)
        units = np.concatenate([np.sqrt(self.variance), ones, ones])
        return np.concatenate([self.centre, np.log(self.variance), np.log(self.reach)]), units

    def _move(self, response: Response, pull: Floats, f: Floats, push: Floats) -> None:
        """Set w̄ and d_c from this pass's statistics and the last d_c."""
        r, types, p = self.reduced, self.reduced.types, self.weights
        right = r.basis @ ((p * push) @ r.means) - self.pulled(pull, self.shift)
        self.mean = response.solve(right)
        forces = []
        for place, share, moved in zip(self.kept, self.shares, self.mean + self.shift, strict=True):
            scale = float(pull[place] @ types.factors[place])
            own = r.basis @ ((p * f)[place] @ r.means[place])
            forces.append((own + scale * r.times(moved)) / share)
        solved = [response.solve(force) for force in self.shared_force(forces)]
        self.shift = np.array(solved) / self.samples

    def errors(self) -> dict[str, float]:
        """Return losses, squared errors, rates, ‖ŵ‖² and objective."""
        types, law = self.reduced.types, self.law(self.mean, 0.0)
        test = gaussian_losses(
            self.loss, self.labels, law.mean, variance=law.variance + self.spread, gamma=self.reach
        )
        train = gaussian_losses(
            self.loss, self.labels, self.centre, variance=self.variance, gamma=self.reach
        )
        norm = float(self.mean @ self.mean) + self.trace
        train_loss = float(self.weights @ train.train_loss)
        return {
            "test_mse": float(types.weights @ test.test_mse),
            "train_mse": float(self.weights @ train.train_mse),
            "objective": train_loss + 0.5 * self.ridge * norm,
            "squared_weight_norm": norm,
            "misclassification": float(types.weights @ test.test_misclassification),
            "test_loss": float(types.weights @ test.test_loss),
            "train_loss": train_loss,
            "train_misclassification": float(self.weights @ train.train_misclassification),
        }
