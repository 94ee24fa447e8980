"""The conditional Gaussian model: Gaussian features given the component and spike coordinates.

With S_c = [γ_{c,1…d}, v], v the leading right singular vector of F̂ − F, P the projector on span S_c
and z⊥ = (I − P)(x − μ_c) (Demir & Dogan [1], Theorem 1; formulas reconstructed):

    φ̂ = a_0 + (a_1/s) ⊙ (F̂z⊥) + (a_2/√2) ⊙ (L_2 g_1) + √(Eσ² − a_0² − a_1² − a_2²/2) ⊙ g_2,

a_q,i = E[σ(m_i + s_i z) H_q(z)], m = F̂(Px + P⊥μ_c), s_i² = level·‖P⊥f̂_i‖², L_2L_2ᵀ = R^{∘2}.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import LinAlgError, cholesky

from onegrad.calculus.expectations import SMALLEST_DEVIATION, LocalExpectations
from onegrad.calculus.function import Function
from onegrad.core.instance import Instance, Layers
from onegrad.core.models import MODELS, Model, NetworkMap
from onegrad.core.problem import Problem
from onegrad.data.mixture import GRANULE, Mixture
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import Floats, Normals
from onegrad.machine.cost import Stage
from onegrad.moments.feature_laws import Law, Points, extended_basis, leading_direction


@dataclass(frozen=True)
class _Conditioned:
    """What the model needs of one component."""

    basis: Floats  # S_c, n × d
    projected: Floats  # F̂S_c, k × d
    offset: Floats  # F̂P⊥μ_c, k
    local: LocalExpectations
    root: Floats  # L_2, k × k


@dataclass(frozen=True)
class ConditionalMap:
    """Features that are Gaussian given component and spike coordinates."""

    network: NetworkMap
    conditioned: dict[int, _Conditioned]
    noise_variance: float = 0.0
    pair_function: Function | None = None
    degree: int | None = None

    def basis(self, component: int) -> Floats | None:
        """S_c, the spikes of the component and the step's leading direction."""
        return self.conditioned[component].basis

    def features(self, points: Points, rng: Normals) -> Floats:
        """Return φ̂ with fresh g_1, g_2 for every sample, in blocks of GRANULE rows."""
        root = self.conditioned[points.component].root
        out = np.empty(points.preactivations.shape)
        for start in range(0, len(out), GRANULE):
            rows = slice(start, start + GRANULE)
            mean, quadratic, spread = self._parts(points, rows)
            quadratic *= rng.standard_normal(mean.shape) @ root.T
            spread *= rng.standard_normal(mean.shape)
            out[rows] = mean + quadratic + spread
        return out

    def predictions(self, points: Points, weights: Floats) -> tuple[Floats, Floats]:
        """Return ŷ averaged over g_1, g_2 and its variance ‖L_2ᵀ(ŵ a_2/√2)‖² + Σ ŵ² spread²."""
        k = len(weights)
        mean, quadratic, spread = self._parts(points, slice(None))
        root = self.conditioned[points.component].root
        variance = spread**2 @ weights**2
        for column in range(weights.shape[1]):
            variance[:, column] += np.sum(((quadratic * weights[:, column]) @ root) ** 2, axis=1)
        return mean @ weights / np.sqrt(k), variance / k

    def coefficients(self, law: Law, order: int) -> Floats:
        """Return the network's: moments of φ̂ given the coordinates are σ's, up to degree 2."""
        return self.network.coefficients(law, order)

    def second_moment(self, law: Law) -> Floats:
        """Return the network's, which φ̂ matches exactly."""
        return self.network.second_moment(law)

    def _parts(self, points: Points, rows: slice) -> tuple[Floats, Floats, Floats]:
        """Return a_0 + (a_1/s)F̂z⊥, a_2/√2 and the deviation of the rest, for some of the points."""
        assert points.coordinates is not None
        c = self.conditioned[points.component]
        local_mean = points.coordinates[rows] @ c.projected.T + c.offset
        (a0, a1, a2), moment = c.local(local_mean)  # a2 is divided by √2! already
        spread = np.sqrt(np.maximum(moment - a0**2 - a1**2 - a2**2, 0.0))
        linear = a1 / c.local.deviations
        linear *= points.preactivations[rows] - local_mean
        return a0 + linear, a2, spread


def conditional_map(
    activation: Function, mixture: Mixture, initial: Floats, trained: Floats
) -> ConditionalMap:
    """Return the conditional Gaussian model of σ(F̂x); one k×k factor per component."""
    wide = trained.astype(np.float64, copy=False)
    direction = leading_direction(wide - initial)
    conditioned = {}
    for index, gaussian in enumerate(mixture.components):
        if gaussian.weight == 0:
            continue
        basis = extended_basis(gaussian.directions, direction)
        projected = wide @ basis
        off = wide - projected @ basis.T
        deviations = np.sqrt(gaussian.level) * np.linalg.norm(off, axis=1)
        deviations = np.maximum(deviations, SMALLEST_DEVIATION)
        offset = np.zeros(len(wide)) if gaussian.mean is None else off @ gaussian.mean
        squared = off @ off.T  # R^{∘2}, made in place: the largest array of all
        squared *= gaussian.level / deviations
        squared /= deviations[:, None]
        squared *= squared
        variances = np.sum(basis * gaussian.covariance_times(basis), axis=0)
        centre = offset if gaussian.mean is None else wide @ gaussian.mean
        reach = np.sqrt(projected**2 @ variances)
        local = LocalExpectations.build(activation, deviations, centre=centre, reach=reach)
        conditioned[index] = _Conditioned(basis, projected, offset, local, _root(squared))
    return ConditionalMap(NetworkMap(activation), conditioned)


def _root(matrix: Floats) -> Floats:
    """Return L with LLᵀ = matrix, which is positive semi-definite but for rounding.

    R^{∘2} is singular when k exceeds n(n+1)/2; then the eigendecomposition serves.
    """
    try:
        return cholesky(matrix, lower=True, check_finite=False)
    except LinAlgError:
        values, vectors = np.linalg.eigh(matrix)
        return vectors * np.sqrt(np.maximum(values, 0.0))


@dataclass(frozen=True)
class ConditionalModel(Model):
    """The conditional Gaussian model."""

    no_theory: ClassVar[str | None] = (
        "has no theory of its own, its errors are the network's; choose network"
    )

    @property
    def key(self) -> str:
        """The same for every name."""
        return "conditional@trained"

    def feature_map(self, instance: Instance, layers: Layers, trained: Floats) -> ConditionalMap:
        """Return features that are Gaussian given component and spike coordinates."""
        return conditional_map(instance.activation, instance.mixture, layers.first, trained)

    def check(self, problem: Problem) -> None:
        """Raise InvalidInput where the data have no known spikes, or the step no direction."""
        if problem.training.rule == "polar":
            raise InvalidInput(
                f"models={self.name!r}: all singular values of a polar step are equal, none leads; "
                "leave it out"
            )
        if not problem.data.exact_moments:
            raise InvalidInput(
                f"models={self.name!r}: needs the spikes of a mixture; fit one "
                "(on_fitted_mixture) or leave it out"
            )

    def stages(self, problem: Problem) -> list[Stage]:
        """Return one k × k factor per component and the products with it."""
        n, m, k = problem.dimension, problem.samples, problem.width
        work = problem.data.theory_parts * (2.0 * k * k * n + k**3 / 3) + 2.0 * k * k * m
        return [Stage("conditional", "product", work)]

    def held_bytes(self, problem: Problem) -> float:
        """Return one k × k factor per component and blocks of expectations."""
        m, k = problem.samples, problem.width
        return 8.0 * (len(problem.data.part_labels) * k * k + 8 * min(m, GRANULE) * k)


MODELS.put("conditional", lambda request: ConditionalModel(request.text))
