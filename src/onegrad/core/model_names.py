"""Models of a problem by name."""

from __future__ import annotations

from collections.abc import Sequence

from onegrad.calculus.expectations import theorem_degree
from onegrad.core.conditional import ConditionalModel as _Conditional  # noqa: F401 (registers)
from onegrad.core.instance import Instance, draw
from onegrad.core.models import MODELS, Model, Request
from onegrad.core.models import HermiteModel as _Hermite  # noqa: F401 (registers)
from onegrad.core.models import TrainedNetwork as _Network  # noqa: F401 (registers)
from onegrad.core.problem import Problem
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import shown

Names = Sequence[str] | str


def resolve_models(problem: Problem, names: Names, *, seed: int = 0) -> list[Model]:
    """Return the models by name, each once; "hermite" has the theorem's degree.

    `names` is a list, or one string with commas.
    """
    return models_named(problem, names, theorem_degree=degree_of(problem, seed=seed))


def degree_of(problem: Problem, *, seed: int = 0) -> int:
    """Return the theorem's degree, that of the seed's trial 0 if β follows from drawn scales."""
    scaling = problem.scaling
    if scaling.strength is not None:
        return theorem_degree(scaling.strength, cap=scaling.degree_cap)
    return draw(problem, seed=seed).scales.degree


def models_of(instance: Instance, names: Names) -> list[Model]:
    """Return the models by name, each once; "hermite" has the instance's degree."""
    return models_named(instance.problem, names, theorem_degree=instance.scales.degree)


def models_named(problem: Problem, names: Names, *, theorem_degree: int) -> list[Model]:
    """Return the models by name, each once; "hermite" has the given degree."""
    listed = names.split(",") if isinstance(names, str) else names
    if not isinstance(listed, Sequence) or not all(isinstance(name, str) for name in listed):
        raise InvalidInput(
            f"models={shown(names)}: must be a list of names; give a list of strings"
        )
    wanted = list(dict.fromkeys(name.strip() for name in listed if name.strip()))
    if not wanted:
        raise InvalidInput(f"models={shown(names)}: must name at least one model; add network")
    models = [parse_model(name, theorem_degree=theorem_degree) for name in wanted]
    distinct = list({model.name: model for model in models}.values())
    for model in distinct:
        model.check(problem)
    return distinct


def parse_model(name: str, *, theorem_degree: int) -> Model:
    """Return the model of this name; "hermite" alone has the theorem's degree."""
    known, argument = MODELS.split(name, field="models")
    whole = known if argument is None else f"{known}:{argument}"
    made = MODELS[known](Request(whole, argument, theorem_degree))
    if not isinstance(made, Model):
        raise InvalidInput(
            f"models={whole!r}: its function returned {shown(made)}, no Model; register another"
        )
    return made


def model_names() -> list[str]:
    """Return the names that models are asked for by."""
    return MODELS.forms()
