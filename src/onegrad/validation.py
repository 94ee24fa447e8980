"""Checked field types and one-line error messages: field, value, rule, remedy."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Strict,
    ValidationError,
)

LARGEST_COUNT = 10**9


class InvalidInput(ValueError):
    """An input that breaks a rule; the message is one line that names the remedy."""


class Failure(RuntimeError):
    """A run that cannot give what was asked of it; the message is one line."""


class NotConverged(Failure):
    """An iteration did not reach its fixed point; the message says how far it is."""


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


def whole_number(name: str, value: object, *, least: int) -> int:
    """Return `value` as an int; raise InvalidInput unless it is whole and at least `least`."""
    plain = _plain(value)
    if isinstance(plain, bool) or not isinstance(plain, int) or not least <= plain <= LARGEST_COUNT:
        raise InvalidInput(
            f"{name}={shown(plain)}: must be a whole number of at least {least} and at most "
            f"{LARGEST_COUNT:.0e}; change it"
        )
    return plain


def real_numbers(value: Any) -> list[float]:
    """Return one number or a flat list of numbers as floats; texts and truth values are refused."""
    plain = value.tolist() if isinstance(value, np.ndarray) else _plain(value)
    numbers = list(plain) if isinstance(plain, list | tuple) else [plain]
    numbers = [_plain(number) for number in numbers]
    if any(isinstance(n, bool) or not isinstance(n, int | float) for n in numbers):
        raise ValueError("must be a number or a flat list of numbers; correct it")
    return [float(number) for number in numbers]


def positive_numbers(name: str, value: Any) -> list[float]:
    """Return one number or a list as floats; raise InvalidInput unless all are above 0."""
    try:
        numbers = real_numbers(value)
    except ValueError as error:
        raise InvalidInput(f"{name}={shown(value)}: {error}") from None
    if not numbers:
        raise InvalidInput(f"{name}=[]: must hold at least one number; add one")
    for number in numbers:
        if not (np.isfinite(number) and number > 0):
            raise InvalidInput(f"{name}={number:g}: must be finite and greater than 0; change it")
    return numbers


def require_finite(model: str, metrics: Mapping[str, Any]) -> None:
    """Raise InvalidInput when one of a model's metrics overflowed."""
    for name, values in metrics.items():
        if not np.all(np.isfinite(values)):
            raise InvalidInput(
                f"{name} of {model}: is not finite; bring learning rate, spread, levels, means, "
                "noise and norms nearer to 1"
            )


def shown(value: object) -> str:
    """Return a short text for a value in a message."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _finite(value: float) -> float:
    if not np.isfinite(value):
        raise ValueError("must be a finite number; replace it")
    return value


def _positive(value: float) -> float:
    if value <= 0:
        raise ValueError("must be greater than 0; raise it")
    return value


def _at_least_zero(value: float) -> float:
    if value < 0:
        raise ValueError("must be at least 0; raise it")
    return value


def _at_least_one(value: int) -> int:
    if value < 1:
        raise ValueError("must be a whole number of at least 1; raise it")
    if value > LARGEST_COUNT:
        raise ValueError(f"must be at most {LARGEST_COUNT:.0e}; lower it")
    return value


def _unit(value: float) -> float:
    if not 0 <= value <= 1:
        raise ValueError(f"must lie in [0, 1]; {'lower' if value > 1 else 'raise'} it")
    return value


def _cosine(value: float) -> float:
    if not -1 <= value <= 1:
        raise ValueError("must lie in [-1, 1], it is a cosine; bring it into that range")
    return value


Real = Annotated[float, Strict(), BeforeValidator(_plain), AfterValidator(_finite)]
Positive = Annotated[Real, AfterValidator(_positive)]
NonNegative = Annotated[Real, AfterValidator(_at_least_zero)]
Unit = Annotated[Real, AfterValidator(_unit)]
Cosine = Annotated[Real, AfterValidator(_cosine)]
Flag = Annotated[bool, Strict()]
Count = Annotated[int, Strict(), BeforeValidator(_plain), AfterValidator(_at_least_one)]
