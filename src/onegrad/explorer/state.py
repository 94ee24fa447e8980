"""A state of the page: a problem as changes to a base, an axis, models; checked like all input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from onegrad.data.mixture_source import MixtureSource
from onegrad.data.source import SOURCES
from onegrad.data.teacher import TEACHERS
from onegrad.describe.checks import shown
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.kinds import Kinds
from onegrad.explorer.values import RATE_FIELDS, companions_of, value_at
from onegrad.problem.problem import Problem

START = "start"
DEFAULT_AXIS = "network.width_ratio"
DEFAULT_MODELS = ("network", "hermite:3")
MOST_MODELS = 8
MOST_CHANGES = 100
MOST_COMPONENTS = 12
DATA_FILE = "data.file"

Bases = Mapping[str, Problem]


@dataclass(frozen=True)
class ExplorerState:
    """What a page shows: the problem, the axis of its curves, the models on it."""

    problem: Problem
    axis: str = DEFAULT_AXIS
    models: tuple[str, ...] = DEFAULT_MODELS
    changes: dict[str, Any] = field(default_factory=dict)
    base: str = START


def read_state(document: Any, bases: Bases) -> ExplorerState:
    """Return the state of a request; raise InvalidInput where a part of it breaks a rule."""
    if not isinstance(document, dict):
        raise InvalidInput(f"state={shown(document)}: must be a table of fields; correct it")
    base = document.get("base", START)
    if not isinstance(base, str) or base not in bases:
        raise InvalidInput(f"base={shown(base)}: must be one of {', '.join(bases)}; choose one")
    changes = flat_changes(document.get("problem", {}))
    axis = document.get("axis", DEFAULT_AXIS)
    if not isinstance(axis, str):
        raise InvalidInput(f"axis={shown(axis)}: must be the path of a field; correct it")
    problem = changed(bases[base], changes)
    return ExplorerState(problem, axis, _models(document.get("models")), changes, base)


def _models(names: Any) -> tuple[str, ...]:
    if names is None:
        return DEFAULT_MODELS
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InvalidInput(f"models={shown(names)}: must be a list of names; correct it")
    if not 1 <= len(names) <= MOST_MODELS:
        raise InvalidInput(f"models={shown(names)}: must be 1 to {MOST_MODELS} names; change them")
    return tuple(dict.fromkeys(names))


def flat_changes(fields: Any) -> dict[str, Any]:
    """Return changes by dotted path, from a flat table or a nested one."""
    if not isinstance(fields, dict):
        raise InvalidInput(f"problem={shown(fields)}: must be a table of fields; correct it")
    flat: dict[str, Any] = {}
    for name, value in fields.items():
        inner = flat_changes(value) if isinstance(value, dict) else {"": value}
        for path, leaf in inner.items():
            flat[f"{name}.{path}" if path else name] = leaf
    if len(flat) > MOST_CHANGES:
        raise InvalidInput(
            f"problem: must have at most {MOST_CHANGES} fields, there are {len(flat)}; remove some"
        )
    return flat


def changed(problem: Problem, changes: Mapping[str, Any]) -> Problem:
    """Return the problem with changes by path: what excludes others replaces them.

    A null takes a field back to what follows from the rest. A weight of one component leaves the
    others their proportions, a step size without spread keeps the data's, and fields of another
    kind of teacher make room.
    """
    if not changes:
        return problem
    if DATA_FILE in changes:
        raise InvalidInput(
            f"{DATA_FILE}={shown(changes[DATA_FILE])}: is not chosen here; start onegrad explore "
            "--data FILE"
        )
    wanted = dict(changes)
    problem = _with_kind(problem, wanted, "data", SOURCES)
    problem = _with_kind(problem, wanted, "teacher", TEACHERS)
    problem = _with_components(problem, wanted)
    for _, other in _missing(problem, wanted):
        wanted[other] = value_at(problem, other)
    wanted = _weights(problem, wanted)
    return problem.replace(wanted) if wanted else problem


def _missing(problem: Problem, wanted: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the fields that a change must be said with, and the change."""
    rated = any(wanted.get(path) is not None for path in RATE_FIELDS)
    return [
        (path, other)
        for path, value in wanted.items()
        if value is not None
        for other in companions_of(path, problem)
        if wanted.get(other) is None and not (rated and other in RATE_FIELDS)
    ]


def _with_kind(problem: Problem, wanted: dict[str, Any], name: str, kinds: Kinds[Any]) -> Problem:
    """Take another kind of teacher or source out of the changes, with those of its fields.

    Fields that only other kinds have are forgotten: they were set before the kind was.
    """
    kind = wanted.pop(f"{name}.kind", None)
    if kind is None:
        return problem
    described = kinds.registry.get(str(kind), field=f"{name}.kind")
    others = {field for model in kinds.kinds() for field in model.model_fields}
    for path in [path for path in wanted if path.startswith(f"{name}.")]:
        field = path.split(".")[1]
        if field in others and field not in described.model_fields:
            del wanted[path]
    if kind == getattr(problem, name).kind:
        return problem
    fields = {}
    for path in [path for path in wanted if path.startswith(f"{name}.") and path.count(".") == 1]:
        fields[path.split(".")[1]] = wanted.pop(path)
    try:
        held = described(kind=kind, **fields)
    except InvalidInput as error:
        raise InvalidInput(f"{name}.{error}") from None
    return problem.replace({name: held})


def _with_components(problem: Problem, wanted: dict[str, Any]) -> Problem:
    """Take a list of components out of the changes, so that others may change its entries."""
    parts = wanted.pop("data.components", None)
    if parts is None:
        return problem
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise InvalidInput(f"data.components={shown(parts)}: must be a list of tables; correct it")
    if len(parts) > MOST_COMPONENTS:
        raise InvalidInput(
            f"data.components: a page shows at most {MOST_COMPONENTS}, there are {len(parts)}; use "
            "the library"
        )
    return problem.replace({"data.components": parts})


def _weights(problem: Problem, wanted: dict[str, Any]) -> dict[str, Any]:
    """Return the changes with weights that sum to 1: those not named share the rest."""
    if not isinstance(problem.data, MixtureSource):
        return wanted
    names = [f"data.components.{i}.weight" for i in range(len(problem.data.components))]
    given = {name: wanted[name] for name in names if wanted.get(name) is not None}
    numbers = all(isinstance(w, float | int) and not isinstance(w, bool) for w in given.values())
    if not given or len(given) == len(names) or not numbers:
        return wanted
    rest = 1.0 - sum(given.values())
    free = {
        n: c.weight for n, c in zip(names, problem.data.components, strict=True) if n not in given
    }
    total = sum(free.values())
    shares = {n: w / total if total > 0 else 1 / len(free) for n, w in free.items()}
    return {**wanted, **{n: max(rest, 0.0) * share for n, share in shares.items()}}
