"""What a model is: a name, a feature map, and what it costs; and the registry of models.

A model of your own is a frozen dataclass derived from `Model`; `register_model` makes its name
known to verbs, sweeps, files and workers. It carries its own cost, its memory, and
whether it has theory.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

from onegrad.describe.arrays import Floats, matching_rows
from onegrad.describe.checks import is_called_with, shown, text
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.registry import Registry, mark_of_source
from onegrad.machine.rates import Stage
from onegrad.models.feature_map import FeatureMap
from onegrad.problem.problem import Problem
from onegrad.training.instance import Instance
from onegrad.training.layers import Layers, checked_first_layer, checked_layers


@dataclass(frozen=True)
class Model(ABC):
    """A model that reads the pre-activations of one first layer, trained or initial.

    `no_theory` says why there is no theory of the model, None where there is.
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


def checked_arguments(instance: Instance, layers: Layers, trained: Floats) -> tuple[Layers, Floats]:
    """Return F and w, and F̂, of `feature_map`; raise InvalidInput where they do not fit."""
    known = checked_layers(layers)
    checked_first_layer(instance, known.first, name="layers.first")
    after = checked_first_layer(instance, trained, name="trained")
    matching_rows("trained", after, "layers.first", len(known.first))
    return known, after


@dataclass(frozen=True)
class Request:
    """A model asked for by name: the whole text, what stands after the colon, default degree."""

    text: str
    argument: str | None
    theorem_degree: int


@dataclass(frozen=True)
class Family:
    """Models of one name: `make` answers a request. `argument` is shown in lists of names."""

    make: Callable[[Request], Model]
    argument: str | None = None
    needs_argument: bool = False

    def names(self, name: str) -> list[str]:
        """Return how models of this family are asked for."""
        forms = [] if self.needs_argument else [name]
        return forms if self.argument is None else [*forms, f"{name}:{self.argument}"]


MODELS: Registry[Family] = Registry("models", {}, home=__name__)


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
        family = Family(_from_class(make), argument)
    else:
        if not is_called_with(make, "request"):
            raise InvalidInput(f"make={shown(make)}: must be called as make(request); correct it")
        family = Family(make, argument)
    MODELS.add(name, family, mark=mark_of_source(make))


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


def _from_class(model: type[Model]) -> Callable[[Request], Model]:
    return lambda request: model(request.text)
