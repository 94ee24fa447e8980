"""Value: the base of all frozen descriptions."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any, ClassVar

from pydantic import (
    BaseModel,
    ConfigDict,
    ValidationError,
)

from onegrad.describe.checks import shown
from onegrad.describe.exceptions import InvalidInput


class Value(BaseModel):
    """Base of all descriptions: frozen, and a misspelt field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # Fields that exclude others: whoever sets one of them drops the others first.
    rivals: ClassVar[dict[str, tuple[str, ...]]] = {}

    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise InvalidInput(one_line(error, known_fields(type(self)))) from None


def nested_fields(model: type[BaseModel]) -> Iterator[tuple[str, Any]]:
    """Yield name and annotation of every field of `model` and of the models nested in it."""
    todo: list[Any] = [model]
    while todo:
        kind = todo.pop()
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            for name, field in kind.model_fields.items():
                yield name, field.annotation
                todo.append(field.annotation)
        else:
            todo.extend(getattr(kind, "__args__", ()))


def known_fields(model: type[BaseModel]) -> list[str]:
    """Return every field name of `model` and of the models nested in it."""
    return [name for name, _ in nested_fields(model)]


def count_fields(model: type[BaseModel]) -> set[str]:
    """Return the names of whole-number fields of `model` and of the models nested in it."""
    return {
        name
        for name, annotation in nested_fields(model)
        if any(
            getattr(part, "__origin__", part) is int
            for part in (annotation, *getattr(annotation, "__args__", ()))
        )
    }


def one_line(error: ValidationError, known: list[str]) -> str:
    """Return the first problem of `error` as «field=value: rule; remedy»."""
    problems = error.errors()
    # Rules of ours say more than a type mismatch in some branch of a union.
    first = next((p for p in problems if p["type"] == "value_error"), problems[0])
    tags = {"mixture", "empirical", "index", "labels", "Array"}
    path = ".".join(
        str(part)
        for part in first["loc"]
        if part not in tags and not str(part).startswith(("function-", "tuple[", "literal["))
    )
    path = path.removesuffix(".float").removesuffix(".str").removesuffix(".int")
    if first["type"] == "extra_forbidden":
        name = str(first["loc"][-1])
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "remove it"
        return f"{path}={shown(first['input'])}: no such field; {hint}"
    if first["type"] in ("model_type", "model_attributes_type", "dict_type"):
        return f"{path}={shown(first['input'])}: must be a table of fields; correct it"
    if first["type"] == "tuple_type":
        return f"{path}={shown(first['input'])}: must be a list; correct it"
    if first["type"] == "missing":
        return f"{path}: missing; give it a value"
    if first["type"] == "union_tag_invalid":
        tag = first["input"].get("kind") if isinstance(first["input"], dict) else first["input"]
        expected = first.get("ctx", {}).get("expected_tags", "")
        return f"{path}.kind={shown(tag)}: must be one of {expected}; choose one"
    message = first["msg"].removeprefix("Value error, ")
    if isinstance(first.get("ctx", {}).get("error"), InvalidInput):
        # A nested value has named its own field: the path leads to it.
        if path and message.startswith(f"{first['loc'][-1]!s}="):
            path = path.rpartition(".")[0]
        return f"{path}.{message}" if path else message
    message = message[0].lower() + message[1:]
    if first["type"] != "value_error":
        message += "; change it"
    return f"{path}={shown(first['input'])}: {message}" if path else message
