"""Ridge regression's errors by types that share their covariance up to a factor.

A type t (component c, coordinates along strong directions) has weight p_t, features of mean ν_t and
covariance τ_tΣ̄, labels of mean ȳ_t and variance, ψ̃_t = Cov(φ, y | t). Unknown per type: mean a_t
and variance v_t of u = φᵀŵ at a point that ŵ has not seen, and its reach γ_t. With ζ = 1/(1+γ):

    Q = (λI + Σ p_tζ_t M_t)^{-1},  M_t = τ_tΣ̄ + ν_tν_tᵀ,  γ_t = Tr(M_tQ)/m
    w̄ = Q {Σ p_tζ_t(ȳ_tν_t + ψ̃_t) − Σ_c Σ_{t∈c} p_tζ_t M_t d_c}
    e_c = (1/ρ_c) Σ_{t∈c} p_tζ_t [(a_t − ȳ_t)ν_t + τ_tΣ̄w_c − ψ̃_t],  d_c = Qe_c/m,  w_c = w̄ + d_c
    C = (1/m) Q {Σ p_tχ_tM_t − Σ_c ρ_c e_ce_cᵀ} Q,   χ_t = ζ_t² E(y − u)²
    a_t = ν_tᵀw_c,  v_t = τ_t w_cᵀΣ̄w_c + Tr(M_tC),  E(y − u)² = (ȳ_t − a_t)² + v_t + Var − 2ψ̃_tᵀw_c

The terms of e_c and d_c are those of exact component counts. Σ̄ is reduced to tridiagonal form once;
then every m and λ costs O(kd²) per iteration, d the rank of all ν_t and ψ̃_t.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator, gmres
from scipy.special import ndtr

from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import NotConverged
from onegrad.theory.anderson import fixed_point
from onegrad.theory.type_algebra import (
    MOST_ITERATIONS,
    TOLERANCE,
    ByTypes,
    OutputLaw,
    ReducedTypes,
    Response,
    Spread,
    require_converged,
)

START_REACH = 10.0


class RidgeByTypes(ByTypes):
    """The equations for one m and λ: first the reaches, then the means, then the variances."""

    def __init__(self, reduced: ReducedTypes, samples: int, ridge: float) -> None:
        super().__init__(reduced, samples, ridge)
        self.shrink = self._shrink()
        self.pull = self.weights * self.shrink
        self.response = Response(reduced, self.pull, ridge)
        self.mean, self.shift = self._means()

    def _shrink(self) -> Floats:
        """Return ζ_t = 1/(1 + γ_t) from γ_t = Tr(M_tQ)/m."""

        def image(x: Floats) -> tuple[Floats, Floats]:
            response = Response(self.reduced, self.weights * np.exp(-x), self.ridge)
            return np.log1p(response.reach / self.samples), np.ones_like(x)

        start = np.full(len(self.weights), np.log1p(START_REACH))
        x, iterations, residual = fixed_point(
            image, start, tolerance=TOLERANCE, most=MOST_ITERATIONS
        )
        require_converged("reach", residual, iterations)
        return np.exp(-x)

    def _means(self) -> tuple[Floats, Floats]:
        """Return w̄ and d_c, iterated together: d_c is smaller by a factor of about 1/m."""
        r, types = self.reduced, self.reduced.types
        plain = r.basis @ ((self.pull * types.label_means) @ r.means + self.pull @ r.cross)
        mean = self.response.solve(plain)
        shift = np.zeros((len(self.kept), len(r.diagonal)))
        size = float(np.linalg.norm(mean)) or 1.0
        change = np.inf
        for _ in range(MOST_ITERATIONS):
            forces = self._forces(mean + shift)
            new_shift = np.array([self.response.solve(f) for f in forces]) / self.samples
            new_mean = self.response.solve(plain - self.pulled(self.pull, new_shift))
            change = float(np.linalg.norm(new_mean - mean) + np.linalg.norm(new_shift - shift))
            mean, shift = new_mean, new_shift
            if change <= TOLERANCE * size:
                break
        require_converged("mean", change / size, MOST_ITERATIONS)
        return mean, shift

    def _forces(self, moved: Floats) -> list[Floats]:
        """Return e_c for w_c = w̄ + d_c, one row each; their mean where counts are sampled."""
        r, types, forces = self.reduced, self.reduced.types, []
        for place, share, weights in zip(self.kept, self.shares, moved, strict=True):
            error = r.means[place] @ (r.basis.T @ weights) - types.label_means[place]
            own = (self.pull[place] * error) @ r.means[place] - self.pull[place] @ r.cross[place]
            scale = float(self.pull[place] @ types.factors[place])
            forces.append((r.basis @ own + scale * r.times(weights)) / share)
        return self.shared_force(forces)

    def errors(self) -> dict[str, float]:
        """Return the errors: E(y − u)² of a training point solves a linear equation."""
        types = self.reduced.types
        spread = Spread(self.response, self.samples, shares=self.shares, shift=self.shift)
        weight = self.weights * self.shrink**2
        training, test = self.law(self.mean, self.shift), self.law(self.mean, 0.0)
        bias = self._squared(training) + spread.fixed
        operator = LinearOperator(
            (len(bias), len(bias)), matvec=lambda e: e - spread.variances(weight * e), dtype=float
        )
        errors, info = gmres(operator, bias, x0=bias, rtol=1e-9, atol=0.0, maxiter=50)
        if info != 0:
            raise NotConverged("types: the error equation did not converge; raise the ridge")
        spread_of = spread.fixed + spread.variances(weight * errors)
        train = float(weight @ errors)
        norm = float(self.mean @ self.mean) + spread.trace(weight * errors)
        return {
            "test_mse": float(types.weights @ (self._squared(test) + spread_of)),
            "train_mse": train,
            "objective": 0.5 * train + 0.5 * self.ridge * norm,
            "squared_weight_norm": norm,
            **self._rates(training, test, spread_of),
        }

    def _squared(self, law: OutputLaw) -> Floats:
        """Return E(y − u)² of every type but for Tr(M_tC)."""
        types = self.reduced.types
        bias = (types.label_means - law.mean) ** 2 + types.label_variances
        return np.maximum(bias + law.variance - 2 * law.cross, 0.0)

    def _rates(self, training: OutputLaw, test: OutputLaw, spread: Floats) -> dict[str, float]:
        """Return misclassification where labels are signs: prox(u) < 0 where u < −γ."""
        types = self.reduced.types
        if not types.signs:
            return {}
        y, reach = types.label_means, 1 / self.shrink - 1
        before = y * training.mean + reach
        return {
            "misclassification": float(
                types.weights @ ndtr(-y * test.mean / np.sqrt(test.variance + spread))
            ),
            "train_misclassification": float(
                self.weights @ ndtr(-before / np.sqrt(training.variance + spread))
            ),
        }
