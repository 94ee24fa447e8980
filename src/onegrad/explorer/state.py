"""A state of the page: a problem as changes to a starting problem, an axis, models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import log
from typing import Any

from onegrad.core.problem import Problem
from onegrad.core.scaling import RATES
from onegrad.data.mixture_source import MixtureSource
from onegrad.data.source import SOURCES
from onegrad.data.teachers import TEACHERS
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import shown
from onegrad.describe.registry import TaggedUnion

RATE_FIELDS = tuple(f"scaling.{name}" for name in RATES)


def _rate(problem: Problem) -> float | None:
    return problem.scaling.learning_rate_at(
        dimension=problem.dimension, width=problem.width, samples=problem.samples_per_step
    )


def _spread(problem: Problem) -> float:
    return problem.scaling.spread_at(problem.dimension)


def _strength(problem: Problem) -> float | None:
    """Return β of η‖Σ‖ = n^β with ‖Σ‖ ≈ θ."""
    rate = _rate(problem)
    if problem.scaling.strength is not None:
        return problem.scaling.strength
    size = (rate or 0.0) * max(_spread(problem), 1.0)
    return min(max(log(size) / log(max(problem.dimension, 2)), 0.0), 1.0) if size > 0 else None


def _weighting(problem: Problem) -> float | None:
    """Return α of η = n^{βα}."""
    if problem.scaling.weighting is not None:
        return problem.scaling.weighting
    rate, strength = _rate(problem), _strength(problem)
    if not rate or not strength:
        return None
    return min(max(log(rate) / (strength * log(max(problem.dimension, 2))), 0.0), 1.0)


# Fields that follow from others unless they are set.
FOLLOWING: dict[str, Callable[[Problem], float | None]] = {
    "network.width": lambda p: p.width,
    "network.width_ratio": lambda p: p.width / p.samples,
    "readout.samples": lambda p: p.samples,
    "training.samples": lambda p: p.samples_per_step,
    "training.samples_exponent": lambda p: log(p.samples_per_step) / log(max(p.dimension, 2)),
    "test_samples": lambda p: p.samples_in_test,
    "readout.ridge": lambda p: p.ridges[0],
    "readout.penalty": lambda p: p.ridges[0] * p.samples,
    "scaling.learning_rate": _rate,
    "scaling.per_width": lambda p: None if _rate(p) is None else (_rate(p) or 0.0) / p.width,
    "scaling.per_root": lambda p: (
        None if _rate(p) is None else (_rate(p) or 0.0) / (p.samples_per_step * p.width) ** 0.5
    ),
    "scaling.spread": _spread,
    "scaling.strength": _strength,
    "scaling.weighting": _weighting,
}


def value_at(problem: Problem, path: str) -> Any:
    """Return the value of a field, derived if it is not set; None if unknown."""
    value = _field_value(problem, path.split("."))
    if path == "readout.ridge":
        value = problem.ridges[0]
    if value is None and path in FOLLOWING:
        value = FOLLOWING[path](problem)
    return value if isinstance(value, bool | int | float | str) else _plain_list(value)


def _field_value(value: Any, names: list[str]) -> Any:
    for name in names:
        if isinstance(value, tuple):
            within = name.isdigit() and int(name) < len(value)
            value = value[int(name)] if within else None
        else:
            value = getattr(value, name, None)
    return value


def _plain_list(value: Any) -> list[float] | None:
    numbers = isinstance(value, tuple) and all(isinstance(v, float | int) for v in value)
    return list(value) if numbers else None


def companions_of(path: str, problem: Problem) -> tuple[str, ...]:
    """Return the fields that must be set with this one: a step size needs the spread."""
    if path in RATE_FIELDS:
        return ("scaling.spread",) if problem.scaling.spread is None else ()
    rated = problem.scaling.rate_field is not None
    return ("scaling.learning_rate",) if path == "scaling.spread" and not rated else ()


START = "start"
DEFAULT_AXIS = "network.width_ratio"
DEFAULT_MODELS = ("network", "hermite:3")
MOST_MODELS = 8
MOST_CHANGES = 100
MOST_COMPONENTS = 12
DATA_FILE = "data.file"

StartingProblems = Mapping[str, Problem]


@dataclass(frozen=True)
class ExplorerState:
    """The state of a page: the problem, the axis of its curves, the models on it."""

    problem: Problem
    axis: str = DEFAULT_AXIS
    models: tuple[str, ...] = DEFAULT_MODELS
    changes: dict[str, Any] = field(default_factory=dict)
    base: str = START

    def to_dict(self) -> dict[str, Any]:
        """Return the state as a request has it."""
        own = {"problem": self.changes, "axis": self.axis, "models": list(self.models)}
        return {**own, "base": self.base}


def read_state(document: Any, bases: StartingProblems) -> ExplorerState:
    """Return the state of a request; raise InvalidInput if a part of it breaks a rule."""
    if not isinstance(document, dict):
        raise InvalidInput(
            f"state={shown(document)}: must be a table of fields; send a JSON object"
        )
    base = document.get("base", START)
    if not isinstance(base, str) or base not in bases:
        raise InvalidInput(f"base={shown(base)}: must be one of {', '.join(bases)}; choose one")
    changes = flat_changes(document.get("problem", {}))
    axis = document.get("axis", DEFAULT_AXIS)
    if not isinstance(axis, str):
        raise InvalidInput(f"axis={shown(axis)}: must be the path of a field; send one")
    problem = changed(bases[base], changes)
    return ExplorerState(problem, axis, _models(document.get("models")), changes, base)


def whole_within(name: str, value: Any, least: int, most: int) -> int:
    """Return a whole number of a request; raise InvalidInput unless it lies in [least, most]."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InvalidInput(
            f"{name}={shown(value)}: must be a whole number in [{least}, {most}]; change it"
        )
    return value


def _models(names: Any) -> tuple[str, ...]:
    if names is None:
        return DEFAULT_MODELS
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InvalidInput(f"models={shown(names)}: must be a list of names; send one")
    if not 1 <= len(names) <= MOST_MODELS:
        raise InvalidInput(f"models={shown(names)}: must be 1 to {MOST_MODELS} names; change them")
    return tuple(dict.fromkeys(names))


def flat_changes(fields: Any) -> dict[str, Any]:
    """Return changes by dotted path, from a flat table or a nested one."""
    if not isinstance(fields, dict):
        raise InvalidInput(
            f"problem={shown(fields)}: must be a table of fields; send a JSON object"
        )
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
    """Return changes and the fields that must be set with them but are not."""
    rated = any(wanted.get(path) is not None for path in RATE_FIELDS)
    return [
        (path, other)
        for path, value in wanted.items()
        if value is not None
        for other in companions_of(path, problem)
        if wanted.get(other) is None and not (rated and other in RATE_FIELDS)
    ]


def _with_kind(
    problem: Problem, wanted: dict[str, Any], name: str, kinds: TaggedUnion[Any]
) -> Problem:
    """Take another kind of teacher or source out of the changes, with those of its fields.

    Fields that only other kinds have are forgotten: they were set before the kind was.
    """
    kind = wanted.pop(f"{name}.kind", None)
    if kind is None:
        return problem
    described = kinds.get(str(kind), field=f"{name}.kind")
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
        value = described(kind=kind, **fields)
    except InvalidInput as error:
        raise InvalidInput(f"{name}.{error}") from None
    return problem.replace({name: value})


def _with_components(problem: Problem, wanted: dict[str, Any]) -> Problem:
    """Take a list of components out of the changes, so that others may change its entries."""
    parts = wanted.pop("data.components", None)
    if parts is None:
        return problem
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise InvalidInput(f"data.components={shown(parts)}: must be a list of tables; send one")
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
