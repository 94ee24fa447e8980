"""From options to a problem: the file's fields with the options in their places."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from onegrad.cli.options import parse_numbers, paths
from onegrad.cli.unused import check_used

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from onegrad.problem.problem import Problem

# Options that several fields share, set by functions of their own below.
MIXTURE_ONLY = (
    *("components", "rank", "strengths", "level", "levels", "means"),
    *("alignment", "equal_totals", "counts"),
)
ROWS_ONLY = (
    "label_column",
    "classes",
    "response",
    "parts",
    "centring",
    "standardise",
    "equal_traces",
    "rescale",
    "input_noise",
    "fit_share",
    "components_per_class",
    "fit_rank",
)
# Fields of components by the option that lists a number for each.
BY_COMPONENT = {"weights": "weight", "labels": "label", "means": "mean", "levels": "level"}
# Whose an option of a teacher is, where one word says it.
OF_TEACHERS = {
    "slope": "--task logistic; give that, or leave it out",
    "flips": "--task sign or classification; give one, or leave it out",
    "combine": "--links; give them, or leave it out",
    "directions": "--links; give them, or leave it out",
}
OF_COMPONENTS = (*BY_COMPONENT, "rank", "strengths", "level")


def build_problem(file: str | None, options: dict[str, Any]) -> Problem:
    """Return the problem of the file with the given options in place of its fields."""
    from onegrad.problem.problem import Problem

    given = {name: value for name, value in options.items() if value is not None}
    fields = _file_fields(file)
    single = {n: v for n, v in given.items() if n not in (*OF_COMPONENTS, "components", "task")}
    _choose_teacher(fields, given)
    set_options(fields, single)
    if _is_rows(fields, given):
        _set_rows(fields, given)
    else:
        _refuse(given, ROWS_ONLY, "real data; add --data")
        _set_components(fields, given)
    _set_task(fields, given)
    problem = Problem(**fields)
    check_used(problem, given)
    return problem


def _file_fields(file: str | None) -> dict[str, Any]:
    from onegrad.describe.toml import read_fields

    return {} if file is None else read_fields(Path(file))


def set_options(fields: dict[str, Any], given: dict[str, Any]) -> None:
    """Put options into a description's fields; a field that excludes others replaces them."""
    from onegrad.describe.schema import nested_fields
    from onegrad.problem.problem import Problem

    places = paths()
    known: dict[str, FieldInfo] = {}
    for path, field in nested_fields(Problem):
        known.setdefault(path, field)
    rivals = _rivals(Problem)
    named = {places[name] for name in given}
    for name, value in given.items():
        path = places[name]
        *outer, last = path.split(".")
        table = fields
        for depth, part in enumerate(outer, start=1):
            inner = dict(_table(".".join(outer[:depth]), table.get(part, {})))
            table[part] = inner
            table = inner
        for rival in rivals.get(path, ()):
            if rival not in named:
                table.pop(rival.rpartition(".")[2], None)
        table[last] = converted(name, value, known[path])


def _rivals(model: Any, prefix: str = "") -> dict[str, tuple[str, ...]]:
    """Return which fields exclude which, by path, in a description and what it may hold."""
    from onegrad.describe.schema import nested_models

    out = {
        f"{prefix}{name}": tuple(f"{prefix}{other}" for other in others)
        for name, others in model.rivals.items()
    }
    for name, field in model.model_fields.items():
        for _, inner in nested_models(field.annotation, field.metadata):
            out |= _rivals(inner, f"{prefix}{name}.")
    return out


def converted(name: str, value: Any, field: FieldInfo) -> Any:
    """Return an option's text as what its field holds: numbers, a list of them, a text."""
    from onegrad.describe.exceptions import InvalidInput
    from onegrad.describe.schema import choices, holds_list, plain_types

    if not isinstance(value, str) or value in choices(field):
        return value
    types = plain_types(field)
    if holds_list(field, str):
        return value.split(",")
    if holds_list(field, float):
        numbers = parse_numbers(name, value)
        return numbers[0] if len(numbers) == 1 else numbers
    if str in types or not {int, float} & set(types):
        return value
    try:
        return int(value) if int in types else float(value)
    except ValueError:
        kind = "whole number" if int in types else "number"
        raise InvalidInput(f"{name}={value!r}: must be a {kind}; correct it") from None


def _is_rows(fields: dict[str, Any], given: dict[str, Any]) -> bool:
    """Return whether the data are rows; what a file says of other data makes room for --data."""
    from onegrad.data.source import SOURCES

    data = fields.get("data", {})
    if "data" in given:
        places = paths()
        taken = {places[name].split(".")[1] for name in given if "data." in places.get(name, "")}
        fields["data"] = {name: value for name, value in data.items() if name in taken}
        return True
    kind = SOURCES.kind(data)
    return kind in SOURCES.registry and not SOURCES.registry[kind].exact_moments


def _set_rows(fields: dict[str, Any], given: dict[str, Any]) -> None:
    """Apply --labels and --weights to the classes of real data."""
    _refuse(given, MIXTURE_ONLY, "a mixture; leave it out")
    for name, field in (("labels", "targets"), ("weights", "weights")):
        if name in given:
            text = given[name]
            by_rows = name == "weights" and text == "rows"
            value = text if by_rows else parse_numbers(name, text)
            fields["data"] = {**fields["data"], field: value}


def _refuse(given: dict[str, Any], names: tuple[str, ...], whose: str) -> None:
    from onegrad.describe.exceptions import InvalidInput

    for name in given:
        if name in names:
            raise InvalidInput(f"{name}={given[name]!r}: belongs to {whose}")


def _set_components(fields: dict[str, Any], given: dict[str, Any]) -> None:
    """Apply --components and the options of single components to a mixture."""
    if not any(name in given for name in ("components", *OF_COMPONENTS)):
        return
    from onegrad.data.mixture_source import Component

    if "level" in given and "levels" in given:
        _refuse(given, ("level",), "all components, --levels to each; leave one out")
    data = dict(_table("data", fields.get("data", {})))
    lists: dict[str, list[float]] = {
        name: parse_numbers(name, given[name]) for name in BY_COMPONENT if name in given
    }
    parts = _parts(data, given, lists)
    for name, numbers in lists.items():
        for part, number in zip(parts, numbers, strict=True):
            part[BY_COMPONENT[name]] = number
    for part in parts:
        part.setdefault("weight", 1 / len(parts))
        for name in ("rank", "level", "strengths"):
            if name in given:
                part[name] = converted(name, given[name], Component.model_fields[name])
    data["components"] = parts
    fields["data"] = data


def _parts(
    data: dict[str, Any], given: dict[str, Any], lists: dict[str, list[float]]
) -> list[dict[str, Any]]:
    """Return the tables of as many components as options and file ask for."""
    from onegrad.data.mixture_source import MOST_COMPONENTS
    from onegrad.describe.checks import shown
    from onegrad.describe.exceptions import InvalidInput

    listed = data.get("components", [{}, {}])
    if not isinstance(listed, list):
        raise InvalidInput(f"data.components={shown(listed)}: must be a list of tables; correct it")
    parts = [dict(_table(f"data.components.{i}", c)) for i, c in enumerate(listed)]
    count = len(next(iter(lists.values()))) if lists else len(parts)
    if "components" in given:
        text = str(given["components"])
        count = int(text) if text.lstrip("+-").isdigit() else 0
        if not 1 <= count <= MOST_COMPONENTS:
            raise InvalidInput(
                f"components={text}: must be a whole number from 1 to {MOST_COMPONENTS}; change it"
            )
    for name, numbers in lists.items():
        if len(numbers) != count:
            raise InvalidInput(
                f"{name}={numbers}: must be {count} numbers, one per component; change one of them"
            )
    if count == len(parts):
        return parts
    if "components" in data:
        raise InvalidInput(
            f"components={count}: the file describes {len(parts)} components; leave the option "
            "out or edit the file"
        )
    return [{} for _ in range(count)]


def _choose_teacher(fields: dict[str, Any], given: dict[str, Any]) -> None:
    """Make room for the teacher of --link or --links in what a file says of another."""
    from onegrad.data.teacher import TEACHERS

    wanted = [name for name in ("link", "links") if name in given]
    if len(wanted) != 1 or "teacher" not in fields:
        return
    teacher = _table("teacher", fields["teacher"])
    if {"link": "index", "links": "indices"}[wanted[0]] != TEACHERS.kind(teacher):
        fields["teacher"] = {name: teacher[name] for name in ("noise",) if name in teacher}


def _set_task(fields: dict[str, Any], given: dict[str, Any]) -> None:
    """Choose the teacher that --task names; what a file says of another kind makes room."""
    from onegrad.data.teacher import TEACHERS

    teacher = dict(_table("teacher", fields.get("teacher", {})))
    if "task" not in given:
        _refuse_of_others(given, TEACHERS.kind(teacher))
        return
    regression = "indices" if "links" in teacher else "index"
    kind = {"regression": regression, "classification": "labels"}.get(given["task"], given["task"])
    others = _refuse_of_others(given, kind)
    fields["teacher"] = {n: v for n, v in teacher.items() if n not in others} | {"kind": kind}


def _refuse_of_others(given: dict[str, Any], kind: str) -> set[str]:
    """Return the fields that teachers of another kind alone have; refuse options for them."""
    from onegrad.data.teacher import TEACHERS

    if kind not in TEACHERS.registry:
        return set()  # the problem says which there are
    own = set(TEACHERS.registry[kind].model_fields)
    others = {name for other in TEACHERS.kinds() for name in other.model_fields} - own
    for name, path in paths().items():
        if path in {f"teacher.{other}" for other in others}:
            _refuse(given, (name,), OF_TEACHERS.get(name, "another --task; leave it out"))
    return others


def _table(name: str, value: object) -> dict[str, Any]:
    from onegrad.describe.checks import shown
    from onegrad.describe.exceptions import InvalidInput

    if not isinstance(value, dict):
        raise InvalidInput(f"{name}={shown(value)}: must be a table of fields; correct it")
    return value
