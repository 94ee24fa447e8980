"""Values: frozen descriptions with checked fields, dotted paths into them, and error messages.

Dotted paths reach into nested descriptions: `network.width`, `data.components.0.weight`, `*` for
all entries. In keyword arguments the dots are double underscores: `network__width`.

A value has two texts. `repr` shows it on one screen, without unset fields, arrays by their shapes.
`complete_repr` shows every field; rows and digests store it.
"""

from __future__ import annotations

import difflib
import inspect
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.files import digest
from onegrad.describe.numbers import LARGEST_COUNT, Array, path_of, plain, shown
from onegrad.describe.tables import COLUMNS, LINES, Table, clipped
from onegrad.describe.toml import read_fields, write_fields


class NestedChange(dict[str, Any]):
    """Changes inside one field, by name; any other value replaces the whole field."""


def dotted(name: str) -> str:
    """Return the path of a keyword argument."""
    return name.replace("__", ".")


def last_words(paths: Sequence[str], *, taken: Sequence[str] = ()) -> dict[str, str]:
    """Return the last word of each path, or the whole path if the word is not unique."""
    words = {path: path.rpartition(".")[2] for path in paths}
    known = [*words.values(), *taken]
    return {path: path if known.count(word) > 1 else word for path, word in words.items()}


def by_path(values: Mapping[str, Any]) -> NestedChange:
    """Return values by dotted path as nested changes."""
    tree = NestedChange()
    for path, value in values.items():
        *outer, last = path.split(".")
        branch: Any = tree
        for name in outer:
            branch = branch.setdefault(name, NestedChange())
            if not isinstance(branch, NestedChange):
                break
        if not isinstance(branch, NestedChange) or last in branch:
            raise InvalidInput(f"{path}: is replaced twice; keep one")
        branch[last] = value
    return tree


def at(value: Any, path: str) -> Any:
    """Return the value at a path, or None; for * the value on which all entries agree."""
    if not path:
        return value
    name, _, rest = path.partition(".")
    if isinstance(value, list) and name == "*":
        entries = [at(entry, rest) for entry in value]
        return entries[0] if entries and all(e == entries[0] for e in entries) else entries
    if isinstance(value, list):
        within = name.isdigit() and int(name) < len(value)
        return at(value[int(name)], rest) if within else None
    return at(value[name], rest) if isinstance(value, dict) and name in value else None


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    """Return every value of nested fields by its dotted path."""
    if not isinstance(value, dict | list):
        return {path: value}
    items = value.items() if isinstance(value, dict) else enumerate(value)
    flat: dict[str, Any] = {}
    for name, inner in items:
        flat |= leaves(inner, f"{path}.{name}" if path else str(name))
    return flat


SHOWN_ENTRIES = 6  # of a list
LONGEST_WORD = 40
INDENT = "    "


def constructor_text(value: BaseModel) -> str:
    """Return Name(field=…, …) on at most a screen, unset fields left out."""
    lines = _spelled("", value, "", "").split("\n")
    if len(lines) > LINES:
        lines = [*lines[: LINES - 2], f"{INDENT}… {len(lines) - LINES + 1} more lines", lines[-1]]
    return "\n".join(clipped(line, COLUMNS) for line in lines)


def fields_table(value: BaseModel) -> Table:
    """Return a table with a row per set field, by its dotted path."""
    rows = tuple(_leaves(value, ""))
    return Table(("field", "value"), rows, title=type(value).__name__, left=2)


def _set_fields(value: BaseModel) -> Iterator[tuple[str, Any]]:
    """Yield the set fields, without the kind, which the class name shows."""
    for name in type(value).model_fields:
        inner = getattr(value, name)
        if inner is not None and name != "kind":
            yield name, inner


def _leaves(value: BaseModel, path: str) -> Iterator[tuple[str, str]]:
    """Yield path and text of every set field; a nested description is shown by its class."""
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
    """Return a value in one line if it fits, else with a line for every field or entry."""
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
    """Return parts, with short ones joined into lines of at most COLUMNS characters."""
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
    """Return Name(field=…, …) with every field, whatever its length; digests depend on it."""
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
    """Return field=… field=… of a description, str of any other value; stored rows hold it."""
    return _complete_fields(value, " ") if isinstance(value, BaseModel) else str(value)


def _complete_fields(value: BaseModel, between: str) -> str:
    return between.join(
        f"{name}={complete_repr(getattr(value, name))}" for name in type(value).model_fields
    )


# Numpy's numbers are numbers. Last in a type, so that bounds stay those of the number itself.
NUMPY = BeforeValidator(plain)

Real = Annotated[float, Strict(), Field(allow_inf_nan=False), NUMPY]
Positive = Annotated[float, Strict(), Field(gt=0, allow_inf_nan=False), NUMPY]
NonNegative = Annotated[float, Strict(), Field(ge=0, allow_inf_nan=False), NUMPY]
Unit = Annotated[float, Strict(), Field(ge=0, le=1, allow_inf_nan=False), NUMPY]
Half = Annotated[float, Strict(), Field(ge=0, le=0.5, allow_inf_nan=False), NUMPY]
Cosine = Annotated[float, Strict(), Field(ge=-1, le=1, allow_inf_nan=False), NUMPY]
Text = Annotated[str, Strict()]  # no bytes
Flag = Annotated[bool, Strict()]
Count = Annotated[int, Strict(), Field(ge=1, le=LARGEST_COUNT), NUMPY]
CountOrZero = Annotated[int, Strict(), Field(ge=0, le=LARGEST_COUNT), NUMPY]


def control(
    *,
    label: str | None = None,
    symbol: str | None = None,
    sentence: str | None = None,
    low: float | None = None,
    high: float | None = None,
    scale: Literal["linear", "log"] | None = None,
    names: str | None = None,
    main: bool | None = None,
    hidden: bool | None = None,
) -> dict[str, Any]:
    """Return how a page with sliders shows a field, as `json_schema_extra` of the field.

    `label`, `symbol` and `sentence` describe it; `low`, `high` and `scale` are those of its slider
    if the field's bounds are too wide; `names` is the title of the registry whose names the field
    may hold; `main` controls come first. What is left out follows from the field's name,
    description, bounds and default.
    """
    given = {
        "label": label,
        "symbol": symbol,
        "sentence": sentence,
        "low": low,
        "high": high,
        "scale": scale,
        "names": names,
        "main": main,
        "hidden": hidden,
    }
    return {"control": {name: value for name, value in given.items() if value is not None}}


Bounds = tuple[float | None, float | None, bool, bool]


def nested_fields(model: type[BaseModel]) -> Iterator[tuple[str, FieldInfo]]:
    """Yield the dotted path and the field of every field of `model` and of nested descriptions.

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
        if hasattr(extra, "kinds"):  # a tagged union: whatever is registered
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
    """Return the words that the literals of a field allow."""
    literals = [t for t in plain_types(field) if get_origin(t) is Literal]
    return [word for literal in literals for word in get_args(literal) if isinstance(word, str)]


def holds_list(field: FieldInfo, entry: type) -> bool:
    """Return whether a field may hold a list of entries of this type."""
    lists = [t for t in plain_types(field) if get_origin(t) is tuple]
    return any(get_args(t)[0] is entry for t in lists)


def bounds_of(field: FieldInfo) -> Bounds:
    """Return (lowest, highest, whether the lowest is excluded, whether numbers are whole)."""
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
    """Yield the constraints of a field, also those inside unions."""
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
    """Return the constructor's signature in plain types, nested defaults by their class name.

    Fields that the constructor also takes by position come first.
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
    """A default in a signature, shown without quotes."""

    def __repr__(self) -> str:
        return str(self)


def field_table(model: type[BaseModel]) -> str:
    """Return the fields of a description as a Markdown table: path, allowed values, default."""
    lines = ["| field | holds | default | |", "|---|---|---|---|"]
    seen = set()
    for path, field in nested_fields(model):
        nested = any(True for _ in nested_models(field.annotation, field.metadata))
        if nested or path.endswith("kind") or path in seen:
            continue
        seen.add(path)
        default = "" if field.default is None else f"`{field.default}`"
        lines.append(f"| `{path}` | {_allowed(field)} | {default} | {field.description} |")
    return "\n".join(lines)


def _allowed(field: FieldInfo) -> str:
    """Return the allowed values in words: numbers with their bounds, words, lists."""
    literals = [t for t in plain_types(field) if get_origin(t) is Literal]
    words = [f"`{word}`" for literal in literals for word in get_args(literal)]
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


# Rule and remedy for pydantic's types of errors.
RULES = {
    "int_type": "must be a whole number; correct it",
    "int_parsing_size": "must be a whole number of at most 1e9; lower it",
    "float_type": "must be a number; correct it",
    "finite_number": "must be a finite number; replace it",
    "bool_type": "must be true or false; choose one",
    "string_type": "must be a string; put it in quotes",
    "tuple_type": "must be a list; correct it",
    "literal_error": "must be {expected}; choose one",
    "model_type": "must be a table of fields; correct it",
    "dict_type": "must be a table of fields; correct it",
}
BOUNDS = ("greater_than", "greater_than_equal", "less_than", "less_than_equal")


def one_line(error: ValidationError, model: type[BaseModel]) -> str:
    """Return the first problem of `error` as «field=value: rule; remedy»."""
    problems = error.errors()
    # Our own rules are clearer than a type mismatch in some branch of a union.
    first = next((p for p in problems if p["type"] == "value_error"), problems[0])
    path = ".".join(str(part) for part in first["loc"])
    if first["type"] == "missing":
        return f"{path}: missing; give it a value"
    if first["type"] == "value_error":
        return _of_ours(first, path)
    return f"{path}={shown(first['input'])}: {_rule(first, model)}"


def _of_ours(problem: ErrorDetails, path: str) -> str:
    """Return the line of one of our own rules; a nested value has already named its field."""
    message = problem["msg"].removeprefix("Value error, ")
    if isinstance(problem.get("ctx", {}).get("error"), InvalidInput):
        if path and message.startswith(f"{problem['loc'][-1]!s}="):
            path = path.rpartition(".")[0]
        return f"{path}.{message}" if path else message
    if "; " not in message:  # of numpy or pandas, without a remedy
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
    low, high, open_low, whole = bounds_of(model.model_fields[field])
    if whole and context.get("ge") is not None:
        return f"must be a whole number of at least {context['ge']}"
    # LARGEST_COUNT guards against overflow: it is shown only to those who exceed it.
    if low is not None and high is not None and high < LARGEST_COUNT and not whole and not open_low:
        return f"must lie in [{low:g}, {high:g}]"
    if "gt" in context:
        return f"must be greater than {context['gt']:g}"
    if "ge" in context:
        return f"must be at least {context['ge']:g}"
    if "lt" in context:
        return f"must be less than {context['lt']:g}"
    return f"must be at most {context['le']:g}"


# Attributes of pydantic that completion after a dot leaves out.
_FOREIGN = frozenset(dir(BaseModel)) - frozenset(dir(object))


class Value(BaseModel):
    """Base of all descriptions: frozen, and a misspelt field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # Fields that exclude others: setting one of them drops the others.
    rivals: ClassVar[dict[str, tuple[str, ...]]] = {}

    def __init__(self, *unnamed: Any, **fields: Any) -> None:
        if unnamed:
            raise InvalidInput(
                f"{type(self).__name__}({shown(unnamed[0])}): fields must be given by name; write "
                "field=value"
            )
        _require_words(fields, "")
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise InvalidInput(one_line(error, type(self))) from None

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        cls.__signature__ = readable_signature(cls)

    def __repr__(self) -> str:
        return constructor_text(self)

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return fields_table(self).to_html()

    def __dir__(self) -> list[str]:
        return [n for n in super().__dir__() if n not in _FOREIGN and not n.startswith("_")]

    def replace(self, changes: Mapping[str, Any] | None = None, /, **fields: Any) -> Self:
        """Return a checked copy; `network__activation=…` reaches into a nested value.

        Paths go to any depth, by index or `*` for all entries: `data__components__0__weight`, or
        `{"data.components.0.weight": …}` with dots. A field that excludes others replaces them:
        `network__width` drops the width ratio.
        """
        given = {} if changes is None else changes
        if not isinstance(given, Mapping):
            raise InvalidInput(
                f"changes={shown(given)}: must be a table of values by path; write it with names"
            )
        _require_words(given, "")
        paths = {**given, **{dotted(name): value for name, value in fields.items()}}
        return type(self)(**_changed(self, by_path(paths), ""))


class Document(Value):
    """A description that is used on its own: it has a digest and a TOML file."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, unset fields left out; large arrays by shape and digest."""
        plain: dict[str, Any] = plain_fields(self.model_dump())
        return plain

    def identity(self) -> dict[str, Any]:
        """Return the values on which the digest depends: by default all of `to_dict`."""
        return self.to_dict()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical description, array contents included."""
        return digest(self.identity())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return the description in a TOML file; arrays come from the `.npz` beside it."""
        return cls(**read_fields(path_of("file", path)))

    def save(self, path: str | Path) -> None:
        """Write the description to a TOML file, large arrays to an `.npz` of the same name."""
        write_fields(self.model_dump(), path_of("file", path))


def _require_words(fields: Mapping[Any, Any], path: str) -> None:
    """Raise InvalidInput unless all fields, also in nested tables, are named by strings."""
    for name, value in fields.items():
        if not isinstance(name, str):
            raise InvalidInput(f"{path}{shown(name)}: names of fields must be texts; correct it")
        parts = value if isinstance(value, list | tuple) else [value]
        for part in parts:
            if isinstance(part, Mapping):
                _require_words(part, f"{path}{name}.")


def plain_fields(value: Any) -> Any:
    """Return plain values of a dumped description, unset fields left out, arrays by digest."""
    if isinstance(value, dict):
        return {k: plain_fields(v) for k, v in value.items() if v is not None}
    if isinstance(value, tuple | list):
        return [plain_fields(v) for v in value]
    if isinstance(value, Array):
        return {"shape": list(value.shape), "digest": value.digest}
    return value


def _changed(value: Any, changes: NestedChange, path: str) -> Any:
    """Return the fields or entries of `value` with the changes in their places."""
    if isinstance(value, Value):
        dropped = {rival for name in changes for rival in value.rivals.get(name, ())}
        kept = {n: getattr(value, n) for n in type(value).model_fields if n not in dropped}
    elif isinstance(value, tuple):
        kept = {str(index): entry for index, entry in enumerate(value)}
        changes = _spread_over_all(changes, kept, path)
    else:
        raise InvalidInput(f"{path.rstrip('.')}: has no fields to replace; check the spelling")
    for name, change in changes.items():
        inside = isinstance(change, NestedChange)
        kept[name] = _changed(kept.get(name), change, f"{path}{name}.") if inside else change
    return list(kept.values()) if isinstance(value, tuple) else kept


def _spread_over_all(changes: NestedChange, entries: dict[str, Any], path: str) -> NestedChange:
    """Return changes by index, those for `*` given to every entry."""
    single = NestedChange({name: change for name, change in changes.items() if name != "*"})
    outside = [name for name in single if name not in entries]
    if outside:
        raise InvalidInput(
            f"{path}{outside[0]}: must be an index below {len(entries)} or *; correct it"
        )
    if "*" not in changes:
        return single
    common = changes["*"]
    if not isinstance(common, NestedChange):
        return NestedChange({name: single.get(name, common) for name in entries})
    return NestedChange({name: NestedChange(common | single.get(name, {})) for name in entries})
