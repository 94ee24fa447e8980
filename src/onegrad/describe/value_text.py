"""Descriptions as texts: a screenful for a person, or complete and the same for ever.

A person sees the constructor's form without unset fields, arrays by their shapes. What is stored
or hashed is the complete text, which no screen bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import BaseModel

from onegrad.describe.arrays import Array
from onegrad.describe.screen import COLUMNS, LINES, ScreenTable, clipped

SHOWN_ENTRIES = 6  # of a list
LONGEST_WORD = 40
INDENT = "    "


def constructor_text(value: BaseModel) -> str:
    """Return Name(field=…, …) on at most a screen, unset fields left out."""
    lines = _spelled("", value, "", "").split("\n")
    if len(lines) > LINES:
        lines = [*lines[: LINES - 2], f"{INDENT}… {len(lines) - LINES + 1} more lines", lines[-1]]
    return "\n".join(clipped(line, COLUMNS) for line in lines)


def fields_table(value: BaseModel) -> ScreenTable:
    """Return a row per set field, by its dotted path."""
    rows = tuple(_leaves(value, ""))
    return ScreenTable(("field", "value"), rows, title=type(value).__name__, left=2)


def _set_fields(value: BaseModel) -> Iterator[tuple[str, Any]]:
    """Yield what says something: neither unset fields nor the kind, which the class tells."""
    for name in type(value).model_fields:
        inner = getattr(value, name)
        if inner is not None and name != "kind":
            yield name, inner


def _leaves(value: BaseModel, path: str) -> Iterator[tuple[str, str]]:
    """Yield path and text of every set field, and the class of what holds others."""
    for name, inner in _set_fields(value):
        if isinstance(inner, BaseModel):
            yield f"{path}{name}", type(inner).__name__
            yield from _leaves(inner, f"{path}{name}.")
        elif _holds_models(inner):
            for place, entry in enumerate(inner):
                yield from _leaves(entry, f"{path}{name}.{place}.")
        else:
            yield f"{path}{name}", _short(inner)


def _holds_models(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and isinstance(value[0], BaseModel)


def _spelled(head: str, value: Any, indent: str, tail: str) -> str:
    """Return a value in one line where it fits, else with a line for every field or entry."""
    line = f"{indent}{head}{_short(value)}{tail}"
    if len(line) <= COLUMNS or not (isinstance(value, BaseModel) or _holds_models(value)):
        return line
    inside = f"{indent}{INDENT}"
    if isinstance(value, BaseModel):
        parts = _packed(_spelled(f"{n}=", v, inside, ",") for n, v in _set_fields(value))
        return "\n".join([f"{indent}{head}{type(value).__name__}(", *parts, f"{indent}){tail}"])
    parts = [_spelled("", entry, inside, ",") for entry in value[:SHOWN_ENTRIES]]
    more = len(value) - SHOWN_ENTRIES
    parts += [f"{inside}… {more} more"] if more > 0 else []
    return "\n".join([f"{indent}{head}(", *parts, f"{indent}){tail}"])


def _packed(parts: Iterable[str]) -> list[str]:
    """Return parts with those of one line put together as far as a line reaches."""
    lines: list[str] = []
    for part in parts:
        joined = f"{lines[-1]} {part.lstrip()}" if lines else ""
        if lines and "\n" not in joined and len(joined) <= COLUMNS:
            lines[-1] = joined
        else:
            lines.append(part)
    return lines


def _short(value: Any) -> str:
    """Return a value in one line: arrays by their shapes, long lists by their first entries."""
    if isinstance(value, BaseModel):
        inner = ", ".join(f"{name}={_short(part)}" for name, part in _set_fields(value))
        return f"{type(value).__name__}({inner})"
    if isinstance(value, Array):
        return f"array({' × '.join(str(size) for size in value.shape)})"
    if isinstance(value, tuple | list):
        parts = [_short(part) for part in value[:SHOWN_ENTRIES]]
        parts += [f"… {len(value)} in all"] if len(value) > SHOWN_ENTRIES else []
        return f"({', '.join(parts)}{',' if len(value) == 1 else ''})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {_short(inner)}' for key, inner in value.items())}}}"
    if isinstance(value, float):
        return min(repr(value), f"{value:.6g}", key=len)
    if isinstance(value, str):
        return repr(clipped(value, LONGEST_WORD))
    return clipped(" ".join(repr(value).split()), LONGEST_WORD)


def complete_repr(value: Any) -> str:
    """Return Name(field=…, …) with every field, whatever its length: what digests rest on."""
    if isinstance(value, BaseModel):
        return f"{type(value).__name__}({_complete_fields(value, ', ')})"
    if isinstance(value, tuple):
        parts = [complete_repr(part) for part in value]
        return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
    if isinstance(value, list):
        return f"[{', '.join(complete_repr(part) for part in value)}]"
    if isinstance(value, dict):
        pairs = (f"{key!r}: {complete_repr(inner)}" for key, inner in value.items())
        return f"{{{', '.join(pairs)}}}"
    return repr(value)


def complete_str(value: Any) -> str:
    """Return field=… field=… of a description, the text of anything else: what rows store."""
    return _complete_fields(value, " ") if isinstance(value, BaseModel) else str(value)


def _complete_fields(value: BaseModel, between: str) -> str:
    return between.join(
        f"{name}={complete_repr(getattr(value, name))}" for name in type(value).model_fields
    )
