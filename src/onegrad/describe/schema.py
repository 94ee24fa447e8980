"""What the fields of a description are: names, bounds, descriptions, found by walking its types."""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from onegrad.describe.checks import LARGEST_COUNT

Bounds = tuple[float | None, float | None, bool, bool]


def nested_fields(model: type[BaseModel]) -> Iterator[tuple[str, FieldInfo]]:
    """Yield the dotted path and the field of every field of `model` and of what it may hold.

    Entries of a list have the path `*`.
    """
    for name, field in model.model_fields.items():
        yield name, field
        for prefix, inner in nested_models(field.annotation, field.metadata):
            for path, deeper in nested_fields(inner):
                yield f"{name}.{prefix}{path}", deeper


def nested_models(annotation: Any, metadata: list[Any]) -> Iterator[tuple[str, type[BaseModel]]]:
    """Yield ("" or "*.", model) of every description that a field may hold."""
    for extra in metadata:
        if hasattr(extra, "kinds"):  # an open union: whatever is registered
            yield from (("", model) for model in extra.kinds())
            return
    if get_origin(annotation) is Annotated:
        inner, *more = get_args(annotation)
        yield from nested_models(inner, more)
    elif get_origin(annotation) is tuple:
        yield from (("*.", model) for _, model in nested_models(get_args(annotation)[0], []))
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield "", annotation
    else:
        for argument in get_args(annotation):
            yield from nested_models(argument, [])


def count_fields(model: type[BaseModel]) -> set[str]:
    """Return the names of whole-number fields of `model` and of the models nested in it."""
    return {path.rpartition(".")[2] for path, field in nested_fields(model) if is_whole(field)}


def is_whole(field: FieldInfo) -> bool:
    """Return whether a field holds a whole number."""
    return int in plain_types(field)


def choices(field: FieldInfo) -> list[str]:
    """Return the words that a field may hold, of all its literals."""
    literals = [t for t in plain_types(field) if _is_literal(t)]
    return [word for literal in literals for word in get_args(literal) if isinstance(word, str)]


def _is_literal(kind: Any) -> bool:
    return get_origin(kind) is Literal


def holds_list(field: FieldInfo, entry: type) -> bool:
    """Return whether a field may hold a list of such entries."""
    lists = [t for t in plain_types(field) if get_origin(t) is tuple]
    return any(get_args(t)[0] is entry for t in lists)


def bounds(model: type[BaseModel], name: str) -> Bounds:
    """Return (lowest, highest, whether the lowest is left out, whether numbers are whole)."""
    return bounds_of(model.model_fields[name])


def bounds_of(field: FieldInfo) -> Bounds:
    """Return (lowest, highest, whether the lowest is left out, whether numbers are whole)."""
    low = high = None
    open_low = False
    for rule in _rules(field):
        for attribute in ("ge", "gt"):
            if getattr(rule, attribute, None) is not None:
                low, open_low = getattr(rule, attribute), attribute == "gt"
        limit = getattr(rule, "le", None)
        if limit is not None:
            high = limit if high is None else min(high, limit)
    return low, high, open_low, is_whole(field)


def _rules(field: FieldInfo) -> Iterator[Any]:
    """Yield the constraints of a field, those inside unions too."""
    todo: list[Any] = [*field.metadata, field.annotation]
    while todo:
        part = todo.pop()
        if isinstance(part, FieldInfo):
            todo.extend(part.metadata)
        elif get_origin(part) is not None:
            todo.extend(get_args(part))
        else:
            yield part


def plain_types(field: FieldInfo) -> list[Any]:
    """Return the types that a field may hold, without the metadata of their checks."""
    plain = plain_type(field.annotation)
    union = get_origin(plain) in (Union, types.UnionType)
    return list(get_args(plain)) if union else [plain]


def plain_type(annotation: Any) -> Any:
    """Return a type as a person writes it, without the metadata of its checks."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return plain_type(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        out = plain_type(get_args(annotation)[0])
        for argument in get_args(annotation)[1:]:
            out = out | plain_type(argument)
        return out
    if origin is tuple:
        return tuple[tuple(plain_type(a) for a in get_args(annotation))]  # type: ignore[misc]
    return annotation


def readable_signature(model: type[BaseModel]) -> inspect.Signature:
    """Return the constructor's signature in plain types, nested defaults by their class's name.

    Fields that the constructor also takes by position stand first.
    """
    by_place = [
        name
        for name, parameter in inspect.signature(model.__init__).parameters.items()
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY and name in model.model_fields
    ]
    parameters = []
    for name, field in model.model_fields.items():
        default = field.get_default(call_default_factory=True)
        if isinstance(default, BaseModel) or (
            isinstance(default, tuple) and default and isinstance(default[0], BaseModel)
        ):
            default = Shown(f"{type(default).__name__}(…)")
        parameters.append(
            inspect.Parameter(
                name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD
                if name in by_place
                else inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if field.is_required() else default,
                annotation=plain_type(field.annotation),
            )
        )
    return inspect.Signature(sorted(parameters, key=lambda p: p.kind))


class Shown(str):
    """A text that stands for a value in a signature: shown without quotes."""

    def __repr__(self) -> str:
        return str(self)


def field_table(model: type[BaseModel]) -> str:
    """Return the fields of a description as a Markdown table: path, what it holds, default."""
    lines = ["| field | holds | default | |", "|---|---|---|---|"]
    seen = set()
    for path, field in nested_fields(model):
        nested = any(True for _ in nested_models(field.annotation, field.metadata))
        if nested or path.endswith("kind") or path in seen:
            continue
        seen.add(path)
        default = "" if field.default is None else f"`{field.default}`"
        lines.append(f"| `{path}` | {_held(field)} | {default} | {field.description} |")
    return "\n".join(lines)


def _held(field: FieldInfo) -> str:
    """Return what a field may hold, in words: numbers with their bounds, words, lists."""
    words = [f"`{word}`" for t in plain_types(field) for word in get_args(t) if _is_literal(t)]
    low, high, open_low, whole = bounds_of(field)
    types = plain_types(field)
    if whole or float in types:
        kind = "whole number" if whole else "number"
        lower = "" if low is None else f" {'>' if open_low else '≥'} {low:g}"
        upper = "" if high in (None, LARGEST_COUNT) else f"{',' if lower else ''} ≤ {high:g}"
        words.append(kind + lower + upper)
    if holds_list(field, float):
        words.append("list of numbers")
    if any(getattr(t, "__name__", "") == "Array" for t in types):
        words.append("array")
    if bool in types:
        words.append("true or false")
    if str in types or holds_list(field, str):
        words.append("text")
    return " or ".join(words) or "list"
