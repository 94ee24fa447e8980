"""The Hermite model: a polynomial of the pre-activation and fresh noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onegrad.calculus import functions
from onegrad.calculus.expansion import LARGEST_DEGREE, HermiteExpansion, expand
from onegrad.calculus.function import Function
from onegrad.calculus.polynomials import polynomial_coefficients
from onegrad.describe.arrays import Floats, Normals
from onegrad.describe.exceptions import InvalidInput
from onegrad.machine.rates import Stage
from onegrad.models.feature_map import Points
from onegrad.models.laws import Law
from onegrad.models.model import MODELS, Family, Model, Request, checked_arguments
from onegrad.problem.problem import Problem
from onegrad.training.instance import Instance
from onegrad.training.layers import Layers


@dataclass(frozen=True)
class HermiteMap:
    """φ = Σ_{j≤D} (h_j/j!) H_j(u/b) + h* z with z fresh for every sample and neuron."""

    expansion: HermiteExpansion
    pair_function: Function | None = None

    @property
    def noise_variance(self) -> float:
        """h*²."""
        return self.expansion.noise_variance

    @property
    def degree(self) -> int | None:
        """D."""
        return self.expansion.degree

    def basis(self, component: int) -> Floats | None:
        """No spike coordinates are needed."""
        return None

    def features(self, points: Points, rng: Normals) -> Floats:
        """Return the polynomial of u plus h* z."""
        values = self.expansion(points.preactivations)
        noise = rng.standard_normal(values.shape).astype(values.dtype, copy=False)
        values += noise * values.dtype.type(np.sqrt(self.noise_variance))
        return values

    def predictions(self, points: Points, weights: Floats) -> tuple[Floats, Floats]:
        """Return the polynomial's prediction; the noise adds variance h*²‖ŵ‖²/k."""
        k = len(weights)
        mean = self.expansion(points.preactivations) @ weights / np.sqrt(k)
        variance = self.noise_variance / k * np.sum(weights**2, axis=0)
        return mean, np.broadcast_to(variance, mean.shape)

    def coefficients(self, law: Law, order: int) -> Floats:
        """Return E[P(m + s z) H_l(z)]/√l!, zero beyond the degree."""
        kept = min(order, self.expansion.degree)
        out = np.zeros((order + 1, len(law.means)))
        out[: kept + 1] = polynomial_coefficients(
            self.expansion.powers, law.means, law.deviations, kept
        )
        return out

    def second_moment(self, law: Law) -> Floats:
        """Return E[P(u)²], by Parseval over the degrees kept."""
        return np.sum(self.coefficients(law, self.expansion.degree) ** 2, axis=0)


@dataclass(frozen=True)
class HermiteModel(Model):
    """The Hermite model of one degree; degree 1 is the linear one of Hu and Lu [2]."""

    polynomial_degree: int

    @property
    def key(self) -> str:
        """The degree alone matters."""
        return f"hermite:{self.polynomial_degree}@trained"

    @property
    def degree(self) -> int:
        """D."""
        return self.polynomial_degree

    def feature_map(self, instance: Instance, layers: Layers, trained: Floats) -> HermiteMap:
        """Return the expansion of σ at the deviation b of the bulk."""
        checked_arguments(instance, layers, trained)
        activation = functions.get_activation(instance.problem.network.activation)
        return HermiteMap(expand(activation, instance.scales.bulk_deviation, degree=self.degree))

    def stages(self, problem: Problem) -> list[Stage]:
        """Return the noise of the features."""
        return [Stage("model noise", "normal", problem.width * problem.samples)]


def _hermite(request: Request) -> HermiteModel:
    if request.argument is None:
        return HermiteModel(request.text, request.theorem_degree)
    if request.argument.isdigit() and int(request.argument) <= LARGEST_DEGREE:
        return HermiteModel(request.text, int(request.argument))
    raise InvalidInput(
        f"models={request.text!r}: the degree must lie in [0, {LARGEST_DEGREE}], higher ones "
        "overflow where σ does not grow; change it"
    )


MODELS.put("hermite", Family(_hermite, argument="DEGREE"))
MODELS.put("linear", Family(lambda request: HermiteModel(request.text, 1)))
