"""Saved results: one `.npz` of a checksummed record and the arrays that it names by digest.

No pickle: a file holds plain values, arrays, descriptions by their fields and the parts that a
result's class names, nothing that could run.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.extras import require_extra
from onegrad.describe.files import (
    Damaged,
    array_names,
    checksum_of_text,
    digest_of_bytes,
    read_arrays,
    said_file,
    seal,
    unseal,
    write_arrays,
)
from onegrad.describe.numbers import Array, path_of
from onegrad.describe.value import Value

FORMAT = 1
RECORD = "record"
_BROKEN = (KeyError, ValueError, TypeError, IndexError, EOFError, AttributeError)


class SavedResult:
    """Base of results that can be saved, loaded and compared.

    `saved_parts` are the classes of the parts that a result may hold.
    """

    saved_parts: ClassVar[tuple[type, ...]] = ()

    def saved_fields(self) -> dict[str, Any]:
        """Return the fields as they are saved."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def from_saved(cls, saved: dict[str, Any]) -> Self:
        """Return the result of saved fields."""
        return cls(**saved)

    def save(self, path: str | Path) -> None:
        """Write the result to an `.npz` file, whole or not at all."""
        file = path_of("file", path)
        if file.suffix != ".npz":
            raise InvalidInput(f"{said_file(file)}: must end in .npz; rename it")
        text, arrays = self._packed()
        record = np.frombuffer(text.encode(), dtype=np.uint8)
        write_arrays(file, {RECORD: record, **arrays})

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return the result in an `.npz` file that `save` wrote; a damaged one is refused."""
        file = path_of("file", path)
        try:
            record, arrays = _read(file)
            if record["class"] != cls.__name__:
                raise InvalidInput(
                    f"{said_file(file)}: holds {record['class']}, not {cls.__name__}; load it as "
                    "that"
                )
            result: Self = _ResultReader(cls, arrays).restored(record["result"])
            return result
        except InvalidInput:
            raise
        except Damaged as damage:
            raise InvalidInput(
                f"{said_file(file)}: is damaged ({damage}); restore it, or save the result again"
            ) from None
        except _BROKEN as error:  # a sound record that another version wrote
            raise InvalidInput(
                f"{said_file(file)}: was written by an incompatible version of {cls.__name__} "
                f"({type(error).__name__}); save the result again"
            ) from None
        except OSError as error:
            reason = error.strerror or "cannot be read"
            raise InvalidInput(f"{said_file(file)}: {reason}; check the path") from None

    def _packed(self) -> tuple[str, dict[str, NDArray[Any]]]:
        """Return the sealed record and its arrays."""
        arrays: dict[str, NDArray[Any]] = {}
        plain = {"class": type(self).__name__, "result": _plain(self, arrays)}
        return seal(plain, FORMAT), arrays

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SavedResult) or type(self) is not type(other):
            return NotImplemented
        return self._packed()[0] == other._packed()[0]  # which has the digests of all arrays

    def __hash__(self) -> int:
        return hash(checksum_of_text(self._packed()[0]))


def _plain(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """Return a value as JSON can hold it, tagged by what it is; arrays are put aside."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Array):
        return {"given": _put_aside(value.values, arrays)}
    if isinstance(value, np.ndarray):
        return {"array": _put_aside(value, arrays)}
    if isinstance(value, tuple | list):
        tag = "tuple" if isinstance(value, tuple) else "list"
        return {tag: [_plain(part, arrays) for part in value]}
    if isinstance(value, dict):
        return {"table": [[str(key), _plain(part, arrays)] for key, part in value.items()]}
    if _is_frame(value):
        columns = {str(name): value[name].to_numpy() for name in value}
        return {"frame": [[name, _plain(column, arrays)] for name, column in columns.items()]}
    if isinstance(value, Value):
        parts = {name: getattr(value, name) for name in type(value).model_fields}
    elif isinstance(value, SavedResult):
        parts = value.saved_fields()
    elif is_dataclass(value):
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
    else:
        raise InvalidInput(f"{type(value).__name__}: cannot be saved; leave it out")
    kind = "value" if isinstance(value, Value) else "part"
    return {kind: type(value).__name__, "fields": _plain(parts, arrays)}


def _put_aside(array: NDArray[Any], arrays: dict[str, NDArray[Any]]) -> list[str]:
    name = f"array{len(arrays)}"
    if array.dtype.kind not in "iufb":
        raise InvalidInput(f"{array.dtype} array: cannot be saved; leave it out")
    arrays[name] = np.ascontiguousarray(array).reshape(array.shape)
    return [name, _array_digest(arrays[name])]


def _array_digest(array: NDArray[Any]) -> str:
    head = f"{array.dtype.str} {array.shape}"
    return digest_of_bytes(head.encode(), np.ascontiguousarray(array).tobytes())


class _ResultReader:
    """Turns a record back into a result of one class."""

    def __init__(self, kind: type[SavedResult], arrays: dict[str, NDArray[Any]]) -> None:
        self._arrays = arrays
        self._parts = {part.__name__: part for part in _all_parts(kind)}

    def restored(self, plain: Any) -> Any:
        """Return the value of a part of a record."""
        if not isinstance(plain, dict):
            return plain
        tag, inner = next(iter(plain.items()))
        if tag in ("array", "given"):
            return self._array(*inner) if tag == "array" else Array(self._array(*inner))
        if tag in ("tuple", "list"):
            return (tuple if tag == "tuple" else list)(self.restored(part) for part in inner)
        if tag in ("table", "frame"):
            pairs = {name: self.restored(part) for name, part in inner}
            return pairs if tag == "table" else _frame_of(pairs)
        parts = self.restored(plain["fields"])
        if tag == "value":
            return _described(inner)(**parts)
        made = self._parts[inner]
        return made.from_saved(parts) if issubclass(made, SavedResult) else made(**parts)

    def _array(self, name: str, digest: str) -> NDArray[Any]:
        array = self._arrays[name]
        if _array_digest(array) != digest:
            raise Damaged(f"{name} has another digest")
        return array


def _all_parts(kind: type) -> Iterator[type]:
    yield kind
    for part in getattr(kind, "saved_parts", ()):
        if part is not kind:
            yield from _all_parts(part)


def _described(name: str) -> type[Value]:
    """Return the description of this name, onegrad's own or registered."""
    todo: list[type[Value]] = [Value]
    while todo:
        kind = todo.pop()
        if kind.__name__ == name:
            return kind
        todo += kind.__subclasses__()
    raise InvalidInput(f"{name}: is not a known description; register it first")


def _read(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the record and the arrays of a file; raise Damaged unless they can be read."""
    arrays = read_arrays(path, array_names(path))
    if RECORD not in arrays:
        raise Damaged("it has no record")
    return unseal(arrays.pop(RECORD).tobytes().decode(errors="replace"), FORMAT), arrays


def _is_frame(value: Any) -> bool:
    """Return whether a value is a pandas DataFrame; if so, pandas is already imported."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, pandas.DataFrame)


def _frame_of(columns: dict[str, Any]) -> Any:
    require_extra("load", "frames")
    import pandas as pd

    return pd.DataFrame(columns)
