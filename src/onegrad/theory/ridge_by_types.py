"""Ridge regression's errors by types.

A type t (component c, coordinates along strong directions) has weight p_t, features of mean ν_t and
covariance Σ_t, labels of mean ȳ_t and variance, ψ̃_t = Cov(φ, y | t). Unknown per type: mean a_t
and variance v_t of u = φᵀŵ at a point that ŵ has not seen, and its reach γ_t. With ζ = 1/(1+γ):

    Q = (λI + Σ p_tζ_t M_t)^{-1},  M_t = Σ_t + ν_tν_tᵀ,  γ_t = Tr(M_tQ)/m
    w̄ = Q {Σ p_tζ_t(ȳ_tν_t + ψ̃_t) − Σ_c Σ_{t∈c} p_tζ_t M_t d_c}
    e_c = (1/ρ_c) Σ_{t∈c} p_tζ_t [(a_t − ȳ_t)ν_t + Σ_tw_c − ψ̃_t],  d_c = Qe_c/m,  w_c = w̄ + d_c
    C = (1/m) Q {Σ p_tχ_tM_t − Σ_c ρ_c e_ce_cᵀ} Q,   χ_t = ζ_t² E(y − u)²
    a_t = ν_tᵀw_c,  v_t = w_cᵀΣ_tw_c + Tr(M_tC),  E(y − u)² = (ȳ_t − a_t)² + v_t + Var − 2ψ̃_tᵀw_c

The terms of e_c and d_c are those of exact component counts.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
from scipy.sparse.linalg import LinearOperator, gmres

from onegrad.calculus.anderson import fixed_point
from onegrad.calculus.losses import get_loss
from onegrad.calculus.type_labels import Outputs, TypeLabels, correlation, misclassified
from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import NotConverged
from onegrad.theory.by_types import (
    MOST_ITERATIONS,
    TOLERANCE,
    ByTypes,
    OutputLaw,
    TypeAlgebra,
    require_converged,
)

START_REACH = 10.0


class RidgeByTypes(ByTypes):
    """The equations for one m and λ: first the reaches, then the means, then the variances."""

    def __init__(self, algebra: TypeAlgebra, samples: int, ridge: float) -> None:
        super().__init__(algebra, samples, ridge)
        self.shrink = self._shrink()
        self.pull = self.weights * self.shrink
        self.response = algebra.respond(self.pull, ridge)
        self.mean, self.shift = self._means()
        self._set_variances()

    def relabelled(self, labels: TypeLabels) -> RidgeByTypes:
        """Return the solution for labels that their types fix: reaches do not depend on them."""
        other = copy(self)
        other.labels = labels
        other.mean, other.shift = other._means()
        other._set_variances()
        return other

    def plus(self, other: RidgeByTypes) -> RidgeByTypes:
        """Return the solution for the sum of two such labels, whose weights add up."""
        both = copy(self)
        both.labels = replace(self.labels, means=self.labels.means + other.labels.means)
        both.mean, both.shift = self.mean + other.mean, self.shift + other.shift
        both._set_variances()
        return both

    def _set_variances(self) -> None:
        self.spread = self.response.spread(self.samples, shares=self.shares, shift=self.shift)
        self.training, self.test = (
            self.law(self.mean, self.shift),
            self.law(self.mean, self.no_shift),
        )
        self.force = self.weights * self.shrink**2 * self._errors()
        self.variance = self.spread.fixed + self.spread.variances(self.force)  # Tr(M_tC)

    def _shrink(self) -> Floats:
        """Return ζ_t = 1/(1 + γ_t) from γ_t = Tr(M_tQ)/m."""

        def image(x: Floats) -> tuple[Floats, Floats]:
            response = self.algebra.respond(self.weights * np.exp(-x), self.ridge)
            return np.log1p(response.reach / self.samples), np.ones_like(x)

        start = np.full(len(self.weights), np.log1p(START_REACH))
        x, iterations, residual = fixed_point(
            image, start, tolerance=TOLERANCE, most=MOST_ITERATIONS
        )
        require_converged("reach", residual, iterations)
        return np.exp(-x)

    def _means(self) -> tuple[Floats, Floats]:
        """Return w̄ and d_c, iterated together: d_c is smaller by a factor of about 1/m."""
        plain = self.total(self.pull * self.labels.means, label=self.pull)
        mean, shift = self.response.solve(plain), self.no_shift
        size = float(np.linalg.norm(mean)) or 1.0
        change = np.inf
        for _ in range(MOST_ITERATIONS):
            new_shift = self.shifts(self.response, self._forces(mean + shift))
            new_mean = self.response.solve(plain - self.pulled(self.pull, new_shift))
            change = float(np.linalg.norm(new_mean - mean) + np.linalg.norm(new_shift - shift))
            mean, shift = new_mean, new_shift
            if change <= TOLERANCE * size:
                break
        require_converged("mean", change / size, MOST_ITERATIONS)
        return mean, shift

    def _forces(self, moved: Floats) -> list[Floats]:
        """Return ρ_ce_c for w_c = w̄ + d_c, one for each component."""
        forces: list[Floats] = []
        for c, (place, weights) in enumerate(zip(self.places, moved, strict=True)):
            pull = self.pull[place]
            error = self.algebra.law(c, weights).mean - self.labels.means[place]
            force = self.algebra.combined(c, pull * error, label=-pull)
            forces.append(force + self.algebra.covariances_times(c, pull, weights))
        return forces

    def _errors(self) -> Floats:
        """Return E(y − u)² of a training point that is left out: it solves a linear equation."""
        weight, spread = self.weights * self.shrink**2, self.spread
        bias = self._squared(self.training) + spread.fixed
        operator = LinearOperator(
            (len(bias), len(bias)), matvec=lambda e: e - spread.variances(weight * e), dtype=float
        )
        errors, info = gmres(operator, bias, x0=bias, rtol=1e-9, atol=0.0, maxiter=50)
        if info != 0:
            raise NotConverged("types: the error equation did not converge; raise the ridge")
        return np.asarray(errors)

    def _squared(self, law: OutputLaw) -> Floats:
        """Return E(y − u)² of every type but for Tr(M_tC)."""
        bias = (self.labels.means - law.mean) ** 2 + self.labels.variances
        return np.maximum(bias + law.variance - 2 * law.label, 0.0)

    def outputs(self, law: OutputLaw) -> Outputs:
        """Return the law of u with the variance of ŵ."""
        variance = np.maximum(law.variance + self.variance, 1e-300)
        return Outputs(law.mean, variance, self.reach, law.projection)

    @property
    def reach(self) -> Floats:
        """γ_t."""
        return 1 / self.shrink - 1

    def errors(self) -> dict[str, float]:
        """Return squared errors, ‖ŵ‖², objective, and rates where labels are signs."""
        train = float(np.sum(self.force))
        norm = float(self.mean @ self.mean) + self.spread.trace(self.force)
        test = self._squared(self.test) + self.variance
        return {
            "test_mse": float(self.labels.weights @ test),
            "train_mse": train,
            "objective": 0.5 * train + 0.5 * self.ridge * norm,
            "squared_weight_norm": norm,
            **self._rates(),
        }

    def _rates(self) -> dict[str, float]:
        if not self.labels.binary:
            return {}
        loss = get_loss("square")
        test, _ = misclassified(self.labels, loss, self.outputs(self.test))
        _, train = misclassified(self.labels, loss, self.outputs(self.training))
        return {
            "misclassification": float(self.labels.weights @ test),
            "train_misclassification": float(self.weights @ train),
        }

    @property
    def correlation(self) -> float:
        """The largest share of s that u explains, where labels are signs of it."""
        return correlation(self.labels, self.outputs(self.training)) if self.labels.binary else 0.0
