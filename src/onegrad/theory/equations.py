"""The equations by types for ridge regression, convex losses and classes.

Ridge regression. A type t (component c, coordinates along strong directions) has weight p_t,
features of mean ν_t and covariance Σ_t, labels of mean ȳ_t and variance, ψ̃_t = Cov(φ, y | t).
Unknown per type: mean a_t and variance v_t of u = φᵀŵ at a point that ŵ has not seen, and its reach
γ_t. With ζ = 1/(1+γ):

    Q = (λI + Σ p_tζ_t M_t)^{-1},  M_t = Σ_t + ν_tν_tᵀ,  γ_t = Tr(M_tQ)/m
    w̄ = Q {Σ p_tζ_t(ȳ_tν_t + ψ̃_t) − Σ_c Σ_{t∈c} p_tζ_t M_t d_c}
    e_c = (1/ρ_c) Σ_{t∈c} p_tζ_t [(a_t − ȳ_t)ν_t + Σ_tw_c − ψ̃_t],  d_c = Qe_c/m,  w_c = w̄ + d_c
    C = (1/m) Q {Σ p_tχ_tM_t − Σ_c ρ_c e_ce_cᵀ} Q,   χ_t = ζ_t² E(y − u)²
    a_t = ν_tᵀw_c,  v_t = w_cᵀΣ_tw_c + Tr(M_tC),  E(y − u)² = (ȳ_t − a_t)² + v_t + Var − 2ψ̃_tᵀw_c

The terms of e_c and d_c are those of exact component counts.

Convex losses. Unknown per type: mean a_t, variance v_t and reach γ_t of u at a point that ŵ has not
seen, and r_t, its covariance with the projection s that the label reads. With x = prox(u), f =
ℓ'(y, x), over u and s: f̄ = E f, ζ = E ∂f/∂u, χ = E f², h = (E[(s − s̄)f] − rζ)/σ²; then

    w̄ = Q {Σ p_t[(ζ_ta_t − f̄_t)ν_t − h_tc_t] − Σ_c Σ_{t∈c} p_tζ_tM_t d_c}
    Q = (λI + Σ p_tζ_tM_t)^{-1}
    e_c = (1/ρ_c) Σ_{t∈c} p_t[f̄_tν_t + ζ_tΣ_tw_c + h_tc_t],  d_c = Qe_c/m,  C as for ridge

and a_t, v_t, γ_t follow as there, r_t = c_tᵀw_c. Test errors are those of u, training errors those
of prox(u).

Classes, by the square loss. Output j is trained on t_j = +1 for its class and −1 for all others.
Reaches γ_t do not depend on labels, weights are linear in them, variances quadratic: given the type
t the outputs are jointly Gaussian, with v_j the variance of output j and v_{j+l} that for the
labels t_j + t_l,

    Cov(u_j, u_l | t) = (v_{j+l} − v_j − v_l)/2
    misclassification = Σ p_t P(argmax_j u_j ≠ class of t)

The outputs of training points are (u_j + γ_t t_j)/(1 + γ_t).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, gmres

from onegrad.calculus.fixed_point import fixed_point
from onegrad.calculus.label_responses import (
    Outputs,
    Responses,
    TypeLabels,
    correlation,
    losses,
    misclassified,
    responses,
)
from onegrad.calculus.largest_gaussian import not_largest
from onegrad.calculus.losses import NamedLoss, get_loss
from onegrad.describe.exceptions import InvalidInput, NotConverged
from onegrad.describe.numbers import Floats
from onegrad.theory.algebra import (
    MOST_ITERATIONS,
    TOLERANCE,
    ByTypes,
    OutputLaw,
    Response,
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


CONVEX_TOLERANCE = 1e-6  # of means in deviations, and of logarithms
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
            self._image, start, tolerance=CONVEX_TOLERANCE, most=MOST_ITERATIONS
        )
        require_converged("law of outputs", residual, iterations, tolerance=CONVEX_TOLERANCE)
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


class ClassesByTypes:
    """The solutions of all outputs, and of the sums of two, for one m and λ.

    `classes` are the numbers of the labels; the algebra's labels are those of components.
    """

    def __init__(
        self, algebra: TypeAlgebra, samples: int, ridge: float, *, classes: Sequence[float]
    ) -> None:
        labels = algebra.labels
        apart = np.abs(labels.means[:, None] - np.array(classes))
        self.own: NDArray[np.intp] = np.argmin(apart, axis=1)
        self.targets = np.where(np.arange(len(classes)) == self.own[:, None], 1.0, -1.0)
        start = RidgeByTypes(algebra, samples, ridge)
        self.ridge = ridge
        self.outputs = [
            start.relabelled(
                TypeLabels(labels.weights, labels.components, column, np.zeros_like(column))
            )
            for column in self.targets.T
        ]
        self.sums = {
            pair: self.outputs[pair[0]].plus(self.outputs[pair[1]])
            for pair in combinations(range(len(classes)), 2)
        }

    def errors(self) -> dict[str, float]:
        """Return means over outputs, and the rates."""
        first = self.outputs[0]
        each = [output.errors() for output in self.outputs]
        test = not_largest(*self._joint(lambda solution: solution.test), self.own)
        means, spread = self._joint(lambda solution: solution.training)
        means = means + first.reach[:, None] * self.targets
        train = not_largest(means, spread, self.own)
        return {
            **{name: float(np.mean([part[name] for part in each])) for name in each[0]},
            "misclassification": float(first.labels.weights @ test),
            "train_misclassification": float(first.weights @ train),
        }

    def _joint(self, law: Callable[[RidgeByTypes], OutputLaw]) -> tuple[Floats, Floats]:
        """Return means (T × K) and covariances (T × K × K) of the outputs by one of their laws."""
        means = np.stack([law(output).mean for output in self.outputs], axis=1)
        return means, self.covariances(lambda solution: law(solution).variance + solution.variance)

    def covariances(self, variance: Callable[[RidgeByTypes], Floats]) -> Floats:
        """Return covariances by polarisation of the variances of outputs and sums of two."""
        own = [variance(output) for output in self.outputs]
        out = np.empty((len(own[0]), len(own), len(own)))
        for j, value in enumerate(own):
            out[:, j, j] = value
        for (j, other), both in self.sums.items():
            out[:, j, other] = (variance(both) - own[j] - own[other]) / 2
            out[:, other, j] = out[:, j, other]
        return out


Solution = RidgeByTypes | ConvexByTypes


def solve_by_types(algebra: TypeAlgebra, samples: int, ridge: float, *, loss: str) -> Solution:
    """Return the solution of the equations for one number of samples and one penalty."""
    if loss == "square":
        return RidgeByTypes(algebra, samples, ridge)
    if not algebra.labels.one_projection:
        raise InvalidInput(
            f"readout.loss={loss!r}: theory knows labels by component or by one projection; "
            "simulate it"
        )
    return ConvexByTypes(algebra, samples, ridge, loss=get_loss(loss))
