"""Problems as TOML files; large arrays live in an `.npz` beside the file, named by digest."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.files import read_arrays, read_description, replace_file, write_arrays
from onegrad.describe.numbers import Array, shown

INLINE_NUMBERS = 64  # arrays up to this size stand in the TOML itself
PRINTED_NUMBERS = 10_000


def read_fields(path: Path) -> dict[str, Any]:
    """Return the file's fields, arrays loaded and their digests compared."""
    content = read_description(path)
    try:
        fields = tomllib.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # TOML and Unicode errors are ValueErrors
        reason = shown(str(error)).strip("'\"")
        raise InvalidInput(
            f"file={str(path)!r}: is not valid TOML ({reason}); correct it"
        ) from None
    loaded: dict[str, Any] = _with_arrays(fields, path.parent)
    return loaded


def write_fields(fields: dict[str, Any], path: Path) -> None:
    """Write TOML and, for large arrays, `NAME.npz`; each file appears whole or not at all."""
    if path.suffix != ".toml":
        raise InvalidInput(f"file={str(path)!r}: must end in .toml; rename it")
    arrays: dict[str, np.ndarray] = {}
    beside = path.with_suffix(".npz")

    def refer(array: Array) -> Any:
        if array.values.size <= INLINE_NUMBERS:
            return array.values.tolist()
        key = f"array{len(arrays)}"
        arrays[key] = array.values
        return {"npz": beside.name, "key": key, "digest": array.digest}

    text = tomli_w.dumps(_beside(_to_toml(fields, refer), path.parent))
    if arrays:
        write_arrays(beside, arrays)
    replace_file(path, lambda target: target.write_text(text, encoding="utf-8"))


def printed(fields: dict[str, Any]) -> str:
    """Return fields as one TOML text, arrays written out."""
    count = 0

    def inline(array: Array) -> Any:
        nonlocal count
        count += array.values.size
        return array.values.tolist()

    plain = _to_toml(fields, inline)
    if count > PRINTED_NUMBERS:
        raise InvalidInput(
            f"print-toml: the problem holds {count} numbers, at most {PRINTED_NUMBERS} are "
            "printed; use Problem.save in Python"
        )
    return tomli_w.dumps(plain)


def _to_toml(value: Any, refer: Callable[[Array], Any]) -> Any:
    if isinstance(value, dict):
        return {k: _to_toml(v, refer) for k, v in value.items() if v is not None}
    if isinstance(value, tuple | list):
        return [_to_toml(v, refer) for v in value]
    return refer(value) if isinstance(value, Array) else value


def _with_arrays(value: Any, folder: Path) -> Any:
    if isinstance(value, dict):
        if set(value) == {"npz", "key", "digest"}:
            return _load_array(value, folder)
        if isinstance(value.get("file"), str):
            value = {**value, "file": _found_file(value["file"], folder)}
        return {k: _with_arrays(v, folder) for k, v in value.items()}
    if isinstance(value, list):
        return [_with_arrays(v, folder) for v in value]
    return value


def _found_file(name: str, folder: Path) -> str:
    """Return where a data file lies: as named from the TOML's folder, or moved along with it."""
    for path in (folder / name, folder / Path(name).name):
        if path.is_file():
            return str(path)
    return name


def _beside(fields: Any, folder: Path) -> Any:
    """Return fields with the paths of data files in or below the folder relative to it."""
    if isinstance(fields, list):
        return [_beside(value, folder) for value in fields]
    if not isinstance(fields, dict):
        return fields
    out = {name: _beside(value, folder) for name, value in fields.items()}
    if isinstance(out.get("file"), str):
        path = Path(out["file"])
        if path.is_absolute() and path.is_relative_to(folder.absolute()):
            out["file"] = path.relative_to(folder.absolute()).as_posix()
    return out


def _load_array(reference: dict[str, str], folder: Path) -> Array:
    path = folder / str(reference["npz"])
    key = str(reference["key"])
    try:
        array = Array(read_arrays(path, (key,))[key])
    except InvalidInput:
        raise
    except (OSError, ValueError):
        raise InvalidInput(
            f"npz={str(path)!r}: has no readable array {key!r}; restore the file"
        ) from None
    if array.digest != reference["digest"]:
        raise InvalidInput(
            f"npz={str(path)!r}: array {key!r} has another digest than the TOML states; restore "
            "the file or save the problem again"
        )
    return array
