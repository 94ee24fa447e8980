"""One line for a broken rule: «field=value: rule; remedy», from pydantic's errors."""

from __future__ import annotations

import difflib
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from onegrad.describe.checks import LARGEST_COUNT, shown
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.schema import bounds, nested_fields

# What pydantic calls an error, and what we say of it: the rule and the remedy.
RULES = {
    "int_type": "must be a whole number; correct it",
    "int_parsing_size": "must be a whole number of at most 1e9; lower it",
    "float_type": "must be a number; correct it",
    "finite_number": "must be a finite number; replace it",
    "bool_type": "must be true or false; choose one",
    "string_type": "must be a text; correct it",
    "tuple_type": "must be a list; correct it",
    "literal_error": "must be {expected}; choose one",
    "model_type": "must be a table of fields; correct it",
    "dict_type": "must be a table of fields; correct it",
}
BOUNDS = ("greater_than", "greater_than_equal", "less_than", "less_than_equal")


def one_line(error: ValidationError, model: type[BaseModel]) -> str:
    """Return the first problem of `error` as «field=value: rule; remedy»."""
    problems = error.errors()
    # Rules of ours say more than a type mismatch in some branch of a union.
    first = next((p for p in problems if p["type"] == "value_error"), problems[0])
    path = ".".join(str(part) for part in first["loc"])
    if first["type"] == "missing":
        return f"{path}: missing; give it a value"
    if first["type"] == "value_error":
        return _of_ours(first, path)
    return f"{path}={shown(first['input'])}: {_rule(first, model)}"


def _of_ours(problem: ErrorDetails, path: str) -> str:
    """Return the line of a rule of ours; a nested value has named its own field already."""
    message = problem["msg"].removeprefix("Value error, ")
    if isinstance(problem.get("ctx", {}).get("error"), InvalidInput):
        if path and message.startswith(f"{problem['loc'][-1]!s}="):
            path = path.rpartition(".")[0]
        return f"{path}.{message}" if path else message
    if "; " not in message:  # of numpy or pandas, which do not say what to do
        message = f"cannot be read ({shown(message)}); correct it"
    return f"{path}={shown(problem['input'])}: {message}" if path else message


def _rule(problem: ErrorDetails, model: type[BaseModel]) -> str:
    kind, context = problem["type"], problem.get("ctx", {})
    if kind == "extra_forbidden":
        near = _nearest_fields(str(problem["loc"][-1]), model)
        return f"no such field; {f'did you mean {near}?' if near else 'remove it'}"
    if kind in BOUNDS:
        remedy = "raise it" if kind.startswith("greater") else "lower it"
        return f"{_range(model, str(problem['loc'][0]), context)}; {remedy}"
    if kind in RULES:
        return RULES[kind].format(**context)
    message = problem["msg"]
    return f"{message[0].lower()}{message[1:]}; change it"


def _nearest_fields(name: str, model: type[BaseModel]) -> str:
    """Return the paths of the fields with the closest name, "" if no name is close.

    A field of `model` itself comes before those of nested tables.
    """
    paths: dict[str, list[str]] = {}
    for path, _ in nested_fields(model):
        places = paths.setdefault(path.rpartition(".")[2], [])
        if path not in places:
            places.append(path)
    near = difflib.get_close_matches(name, paths, n=1)
    if not near:
        return ""
    outermost = near if near[0] in model.model_fields else paths[near[0]]
    return " or ".join(repr(path) for path in outermost)


def _range(model: type[BaseModel], field: str, context: dict[str, Any]) -> str:
    """Return which numbers a field may hold."""
    low, high, open_low, whole = bounds(model, field)
    if whole and context.get("ge") is not None:
        return f"must be a whole number of at least {context['ge']}"
    # An end beyond all sizes guards against overflow: it is named only to whom it concerns.
    if low is not None and high is not None and high < LARGEST_COUNT and not whole and not open_low:
        return f"must lie in [{low:g}, {high:g}]"
    if "gt" in context:
        return f"must be greater than {context['gt']:g}"
    if "ge" in context:
        return f"must be at least {context['ge']:g}"
    if "lt" in context:
        return f"must be less than {context['lt']:g}"
    return f"must be at most {context['le']:g}"
