"""What a model does with pre-activations: the protocol of feature maps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from onegrad.calculus.function import Function
from onegrad.describe.arrays import Floats, Normals
from onegrad.describe.checks import shown
from onegrad.describe.exceptions import InvalidInput
from onegrad.models.laws import Law


@dataclass(frozen=True)
class Points:
    """Points of one component as a feature map sees them: F̂x, and S_cᵀx where it asks for it."""

    component: int
    preactivations: Floats
    coordinates: Floats | None = None

    @classmethod
    def of(
        cls, feature_map: FeatureMap, component: int, inputs: Floats, preactivations: Floats
    ) -> Points:
        """Return the points of these inputs with the coordinates that the map asks for."""
        basis = feature_map.basis(component)
        return cls(component, preactivations, None if basis is None else inputs @ basis)


class FeatureMap(Protocol):
    """What a model does with one batch of pre-activations u = F̂x from one component."""

    @property
    def noise_variance(self) -> float:
        """Variance of independent noise in every feature, not counted by the Hermite series."""

    @property
    def pair_function(self) -> Function | None:
        """The activation whose closed pair forms hold for this model, if any."""

    @property
    def degree(self) -> int | None:
        """Degree where the features are polynomials in u; None otherwise."""

    def basis(self, component: int) -> Floats | None:
        """Orthonormal S_c (n × d) whose coordinates S_cᵀx the model needs; None for none."""

    def features(self, points: Points, rng: Normals) -> Floats:
        """Return features with their noise, for training."""

    def predictions(self, points: Points, weights: Floats) -> tuple[Floats, Floats]:
        """Return ŷ averaged over the noise and its variance, each (rows × penalties)."""

    def coefficients(self, law: Law, order: int) -> Floats:
        """Return â_l,i = E[φ_i H_l(standardised u_i)]/√l!, shape (order + 1, k)."""

    def second_moment(self, law: Law) -> Floats:
        """Return E[φ_i²] without `noise_variance`, shape (k,)."""


def require_maps(maps: object) -> None:
    """Raise InvalidInput unless a table of feature maps by their models' keys was given."""
    if not isinstance(maps, Mapping) or not maps:
        raise InvalidInput(
            f"maps={shown(maps)}: must be a table of feature maps by model; use model.feature_map"
        )
    for key, feature_map in maps.items():
        methods = ("basis", "features", "predictions")
        if not all(callable(getattr(feature_map, method, None)) for method in methods):
            raise InvalidInput(
                f"maps[{shown(key)}]={shown(feature_map)}: must have {', '.join(methods)}; use "
                "model.feature_map"
            )
