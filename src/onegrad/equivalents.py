"""Models as feature maps: the network itself and the models that replace σ in the readout stage.

A model is the pipeline's one point of extension. Given pre-activations, spike coordinates and the
component, it returns features; it knows the variance of its own noise, and the Hermite
coefficients of its features, from which exact test errors follow.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from onegrad.activations import Activation
from onegrad.arrays import Floats, Normals
from onegrad.expectations import hermite_coefficients, second_moment
from onegrad.hermite import LARGEST_DEGREE, HermiteExpansion
from onegrad.laws import Law
from onegrad.polynomials import polynomial_coefficients
from onegrad.validation import InvalidInput


class FeatureMap(Protocol):
    """What a model does with one batch of pre-activations u = F̂x from one component."""

    @property
    def noise_variance(self) -> float:
        """Variance of independent noise in every feature, not counted by the Hermite series."""

    @property
    def pair_activation(self) -> Activation | None:
        """The activation whose closed pair forms hold for this model, if any."""

    @property
    def degree(self) -> int | None:
        """Degree where the features are polynomials in u; None otherwise."""

    def basis(self, component: int) -> Floats | None:
        """Orthonormal S_c (n × d) whose coordinates S_cᵀx the model needs; None for none."""

    def features(
        self,
        preactivations: Floats,
        coordinates: Floats | None,
        component: int,
        rng: Normals,
    ) -> Floats:
        """Return features with their noise, for training."""

    def predictions(
        self, preactivations: Floats, coordinates: Floats | None, component: int, weights: Floats
    ) -> tuple[Floats, Floats]:
        """Return ŷ averaged over the noise and its variance, each (rows × penalties)."""

    def coefficients(self, law: Law, order: int) -> Floats:
        """Return â_l,i = E[φ_i H_l(standardised u_i)]/√l!, shape (order + 1, k)."""

    def second_moment(self, law: Law) -> Floats:
        """Return E[φ_i²] without `noise_variance`, shape (k,)."""


@dataclass(frozen=True)
class NetworkMap:
    """φ = σ(u)."""

    activation: Activation
    noise_variance: float = 0.0
    degree: int | None = None

    @property
    def pair_activation(self) -> Activation | None:
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


@dataclass(frozen=True)
class HermiteMap:
    """φ = Σ_{j≤D} (h_j/j!) H_j(u/b) + h* z with z fresh for every sample and neuron."""

    expansion: HermiteExpansion
    pair_activation: Activation | None = None

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

    def features(
        self,
        preactivations: Floats,
        coordinates: Floats | None,
        component: int,
        rng: Normals,
    ) -> Floats:
        """Return the polynomial of u plus h* z."""
        values = self.expansion(preactivations)
        noise = rng.standard_normal(values.shape).astype(values.dtype, copy=False)
        values += noise * values.dtype.type(np.sqrt(self.noise_variance))
        return values

    def predictions(
        self, preactivations: Floats, coordinates: Floats | None, component: int, weights: Floats
    ) -> tuple[Floats, Floats]:
        """Return the polynomial's prediction; the noise adds variance h*²‖ŵ‖²/k."""
        k = len(weights)
        mean = self.expansion(preactivations) @ weights / np.sqrt(k)
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
class Model:
    """A model by name: which kind, which degree, and the first layer that it reads."""

    name: str
    kind: Literal["network", "hermite", "conditional"]
    degree: int | None = None
    first_layer: Literal["trained", "initial"] = "trained"

    @property
    def key(self) -> str:
        """What the model computes: equal keys give equal numbers, whatever the name."""
        degree = "" if self.degree is None else f":{self.degree}"
        return f"{self.kind}{degree}@{self.first_layer}"


MODEL_NAMES = ("network", "hermite", "hermite:DEGREE", "linear", "conditional", "untrained")


def parse_model(name: str, *, default_degree: int) -> Model:
    """Return the model of this name; "hermite" alone has the theorem's degree."""
    text = name.strip().lower()
    if text in ("network", "conditional"):
        return Model(text, "network" if text == "network" else "conditional")
    if text == "untrained":
        return Model(text, "network", first_layer="initial")
    if text == "linear":
        return Model(text, "hermite", 1)
    if text == "hermite":
        return Model(text, "hermite", default_degree)
    family, _, degree = text.partition(":")
    if family == "hermite" and degree.isdigit():
        if 0 <= int(degree) <= LARGEST_DEGREE:
            return Model(text, "hermite", int(degree))
        raise InvalidInput(
            f"models={name!r}: the degree must lie in [0, {LARGEST_DEGREE}], higher ones overflow "
            "where σ does not grow; lower it"
        )
    near = difflib.get_close_matches(text, MODEL_NAMES, n=1)
    hint = f"did you mean {near[0]!r}?" if near else "choose one"
    raise InvalidInput(f"models={name!r}: must be one of {', '.join(MODEL_NAMES)}; {hint}")
