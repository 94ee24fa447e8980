"""The network itself: φ = σ(u)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onegrad.calculus.expectations import hermite_coefficients, second_moment
from onegrad.calculus.function import Function
from onegrad.describe.arrays import Floats, Normals
from onegrad.models.laws import Law


@dataclass(frozen=True)
class NetworkMap:
    """φ = σ(u)."""

    activation: Function
    noise_variance: float = 0.0
    degree: int | None = None

    @property
    def pair_function(self) -> Function | None:
        """σ itself."""
        return self.activation

    def basis(self, component: int) -> Floats | None:
        """No spike coordinates are needed."""
        return None

    def features(
        self,
        preactivations: Floats,
        coordinates: Floats | None,
        component: int,
        rng: Normals,
    ) -> Floats:
        """Return σ(u)."""
        return self.activation(preactivations)

    def predictions(
        self, preactivations: Floats, coordinates: Floats | None, component: int, weights: Floats
    ) -> tuple[Floats, Floats]:
        """Return σ(u)ŵ/√k, variance 0."""
        mean = self.activation(preactivations) @ weights / np.sqrt(len(weights))
        return mean, np.zeros_like(mean)

    def coefficients(self, law: Law, order: int) -> Floats:
        """Return E[σ(m + s z) H_l(z)]/√l!."""
        return hermite_coefficients(self.activation, law.means, law.deviations, order=order)

    def second_moment(self, law: Law) -> Floats:
        """Return E[σ(u)²]."""
        return second_moment(self.activation, law.means, law.deviations)
