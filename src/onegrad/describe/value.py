"""Value and Document: the bases of all frozen descriptions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from onegrad.describe.arrays import Array
from onegrad.describe.checks import path_of, shown
from onegrad.describe.digests import digest
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.messages import one_line
from onegrad.describe.paths import Branch, by_path, dotted
from onegrad.describe.schema import readable_signature
from onegrad.describe.toml import read_fields, write_fields
from onegrad.describe.value_text import constructor_text, fields_table

# What pydantic gives every description and nobody looks for after a dot.
_FOREIGN = frozenset(dir(BaseModel)) - frozenset(dir(object))


class Value(BaseModel):
    """Base of all descriptions: frozen, and a misspelt field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # Fields that exclude others: whoever sets one of them drops the others first.
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
    """A description that stands alone: it has a digest of its own and a TOML file."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, unset fields left out; large arrays by shape and digest."""
        plain: dict[str, Any] = plain_fields(self.model_dump())
        return plain

    def identity(self) -> dict[str, Any]:
        """Return what determines the description: all of `to_dict`, unless said."""
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
    """Raise InvalidInput where a field, or one in a nested table, is named by no text."""
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


def _changed(value: Any, changes: Branch, path: str) -> Any:
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
        inside = isinstance(change, Branch)
        kept[name] = _changed(kept.get(name), change, f"{path}{name}.") if inside else change
    return list(kept.values()) if isinstance(value, tuple) else kept


def _spread_over_all(changes: Branch, entries: dict[str, Any], path: str) -> Branch:
    """Return changes by index, those for `*` given to every entry."""
    single = Branch({name: change for name, change in changes.items() if name != "*"})
    outside = [name for name in single if name not in entries]
    if outside:
        raise InvalidInput(
            f"{path}{outside[0]}: must be an index below {len(entries)} or *; correct it"
        )
    if "*" not in changes:
        return single
    common = changes["*"]
    if not isinstance(common, Branch):
        return Branch({name: single.get(name, common) for name in entries})
    return Branch({name: Branch(common | single.get(name, {})) for name in entries})
