"""Models: the trained network, its Hermite polynomials, and models of your own.

A model has a name, a feature map, a cost, and theory or the reason why it has no theory. A model
of your own is a frozen dataclass derived from `Model`; `register_model` makes its name known to
verbs, sweeps, files and workers.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from onegrad.calculus.expectations import (
    LARGEST_DEGREE,
    HermiteExpansion,
    expand,
    hermite_coefficients,
    second_moment,
)
from onegrad.calculus.function import Function, polynomial_coefficients
from onegrad.core.instance import Instance, Layers
from onegrad.core.problem import Problem
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import Floats, Normals, is_called_with, shown, text
from onegrad.describe.registry import Registry, mark_of_source
from onegrad.machine.cost import Stage
from onegrad.moments.feature_laws import FeatureMap, Law, Points


@dataclass(frozen=True)
class Model(ABC):
    """A model that reads the pre-activations of one first layer, trained or initial.

    `no_theory` is the reason why the model has no theory, or None if it has theory.
    """

    name: str

    first_layer: ClassVar[Literal["trained", "initial"]] = "trained"
    no_theory: ClassVar[str | None] = None

    @property
    @abstractmethod
    def key(self) -> str:
        """What the model computes: equal keys give equal numbers, whatever the name."""

    @property
    def degree(self) -> int | None:
        """The degree of a polynomial model, None for others."""
        return None

    @abstractmethod
    def feature_map(self, instance: Instance, layers: Layers, trained: Floats) -> FeatureMap:
        """Return what the model does with pre-activations; `trained` is F̂, `layers` F and w."""

    def check(self, problem: Problem) -> None:  # noqa: B027 (most models have nothing to refuse)
        """Raise InvalidInput where the model is not defined for the problem."""

    def stages(self, problem: Problem) -> list[Stage]:
        """Return what a trial costs beyond what every model costs."""
        return []

    def held_bytes(self, problem: Problem) -> float:
        """Return what a trial holds beyond what every model holds."""
        return 0.0


@dataclass(frozen=True)
class Request:
    """A model asked for by name: the whole name, the part after the colon, the default degree."""

    text: str
    argument: str | None
    theorem_degree: int


MODELS: Registry[Callable[[Request], Model]] = Registry("models", home=__name__)


def register_model(
    name: str, make: Callable[[Request], Model] | type[Model], *, argument: str | None = None
) -> None:
    """Make a model known under `name`: a subclass of Model, or a function of a request.

    A class is made with its name alone. `argument` is the word for what may follow a colon, as in
    hermite:DEGREE; the function finds it in its request.
    """
    if argument is not None:
        text("argument", argument)
    if not callable(make):
        raise InvalidInput(f"make={shown(make)}: must be a model or a function; pass one")
    if isinstance(make, type):
        _require_model(make)
        model = make
        MODELS.add(
            name,
            lambda request: model(request.text),
            mark=mark_of_source(make),
            argument=argument,
        )
        return
    if not is_called_with(make, "request"):
        raise InvalidInput(f"make={shown(make)}: must be called as make(request); change it")
    MODELS.add(name, make, mark=mark_of_source(make), argument=argument)


def _require_model(make: type) -> None:
    """Raise InvalidInput unless a class is a whole model that is made with its name alone."""
    if not issubclass(make, Model):
        raise InvalidInput(f"make={shown(make)}: must be a subclass of Model; derive it")
    missing = sorted(make.__abstractmethods__)
    if missing:
        raise InvalidInput(f"make={shown(make)}: must have {', '.join(missing)}; add it")
    try:
        inspect.signature(make).bind("name")
    except TypeError as error:
        raise InvalidInput(
            f"make={shown(make)}: must be made with its name alone ({error}); register a function"
        ) from None


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
        return NetworkMap(instance.activation)


@dataclass(frozen=True)
class UntrainedNetwork(TrainedNetwork):
    """The network whose first layer stays as it was drawn."""

    first_layer: ClassVar[Literal["trained", "initial"]] = "initial"

    @property
    def key(self) -> str:
        """The same for every name."""
        return "network@initial"


NETWORK = TrainedNetwork("network")
MODELS.put("network", lambda request: TrainedNetwork(request.text))
MODELS.put("untrained", lambda request: UntrainedNetwork(request.text))


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
        expansion = expand(instance.activation, instance.scales.bulk_deviation, degree=self.degree)
        return HermiteMap(expansion)

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


MODELS.put("hermite", _hermite, argument="DEGREE")
MODELS.put("linear", lambda request: HermiteModel(request.text, 1))
