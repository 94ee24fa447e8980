"""The network itself, trained or not: φ = σ(u)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from onegrad.calculus import functions
from onegrad.calculus.expectations import hermite_coefficients, second_moment
from onegrad.calculus.function import Function
from onegrad.describe.arrays import Floats, Normals
from onegrad.models.feature_map import Points
from onegrad.models.laws import Law
from onegrad.models.model import MODELS, Family, Model, checked_arguments
from onegrad.training.instance import Instance
from onegrad.training.layers import Layers


@dataclass(frozen=True)
class NetworkMap:
    """φ = σ(u)."""

    activation: Function
    noise_variance: float = 0.0
    degree: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "activation", functions.function_of(self.activation))

    @property
    def pair_function(self) -> Function | None:
        """σ itself."""
        return self.activation

    def basis(self, component: int) -> Floats | None:
        """No spike coordinates are needed."""
        return None

    def features(self, points: Points, rng: Normals) -> Floats:
        """Return σ(u)."""
        return self.activation(points.preactivations)

    def predictions(self, points: Points, weights: Floats) -> tuple[Floats, Floats]:
        """Return σ(u)ŵ/√k, variance 0."""
        mean = self.activation(points.preactivations) @ weights / np.sqrt(len(weights))
        return mean, np.zeros_like(mean)

    def coefficients(self, law: Law, order: int) -> Floats:
        """Return E[σ(m + s z) H_l(z)]/√l!."""
        return hermite_coefficients(self.activation, law.means, law.deviations, order=order)

    def second_moment(self, law: Law) -> Floats:
        """Return E[σ(u)²]."""
        return second_moment(self.activation, law.means, law.deviations)


@dataclass(frozen=True)
class TrainedNetwork(Model):
    """The network after its step."""

    @property
    def key(self) -> str:
        """The same for every name."""
        return "network@trained"

    def feature_map(self, instance: Instance, layers: Layers, trained: Floats) -> NetworkMap:
        """Return σ."""
        checked_arguments(instance, layers, trained)
        return NetworkMap(functions.get_activation(instance.problem.network.activation))


@dataclass(frozen=True)
class UntrainedNetwork(Model):
    """The network whose first layer stays as it was drawn."""

    first_layer: ClassVar[Literal["trained", "initial"]] = "initial"

    @property
    def key(self) -> str:
        """The same for every name."""
        return "network@initial"

    def feature_map(self, instance: Instance, layers: Layers, trained: Floats) -> NetworkMap:
        """Return σ."""
        checked_arguments(instance, layers, trained)
        return NetworkMap(functions.get_activation(instance.problem.network.activation))


NETWORK = TrainedNetwork("network")
MODELS.put("network", Family(lambda request: TrainedNetwork(request.text)))
MODELS.put("untrained", Family(lambda request: UntrainedNetwork(request.text)))
