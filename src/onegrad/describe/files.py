"""Files that appear whole or not at all, within stated limits, with a checksum."""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import zlib
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from onegrad.describe.exceptions import InvalidInput


def digest(value: Any) -> str:
    """Return the SHA-256 of a plain value's canonical JSON, in hexadecimal."""
    return digest_of_bytes(canonical(value).encode())


def digest_of_bytes(*parts: Any) -> str:
    """Return the SHA-256 of bytes or buffers, one after the other, in hexadecimal."""
    hasher = hashlib.sha256()
    for part in parts:
        hasher.update(part)
    return hasher.hexdigest()


def digest_of_array(array: NDArray[np.float64]) -> str:
    """Return "sha256:…" of the shape and the little-endian float64 bytes."""
    contents = np.ascontiguousarray(array, dtype="<f8").tobytes()
    return "sha256:" + digest_of_bytes(repr(array.shape).encode(), contents)


def checksum_of_text(text: str) -> str:
    """Return the short digest of a string; lone surrogates count too."""
    return checksum_of_bytes(text.encode(errors="surrogatepass"))


def checksum_of_bytes(data: bytes) -> str:
    """Return the short digest of bytes."""
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def canonical(value: Any) -> str:
    """Return the one JSON text of a plain value: keys sorted, no spaces, finite numbers."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


GIB = 2**30
LARGEST_VALUES = 4 * GIB  # bytes of arrays in memory
LARGEST_DESCRIPTION = 2**24  # bytes of a TOML file
LONGEST_PATH = 80  # letters shown of it


def said_file(path: Path | str) -> str:
    """Return file='…' for messages; of a long path its end."""
    text = str(path)
    return f"file={text if len(text) <= LONGEST_PATH else '…' + text[-LONGEST_PATH:]!r}"


def read_description(path: Path) -> bytes:
    """Return what a file of bounded length holds; a device without end is refused too."""
    try:
        with path.open("rb") as file:
            contents = file.read(LARGEST_DESCRIPTION + 1)
    except (OSError, ValueError) as error:  # a path with a null character is a ValueError
        reason = getattr(error, "strerror", None) or "cannot be read"
        raise InvalidInput(f"{said_file(path)}: {reason}; check the path") from None
    if len(contents) > LARGEST_DESCRIPTION:
        raise InvalidInput(
            f"{said_file(path)}: is longer than {LARGEST_DESCRIPTION // 2**20} MiB, the most that "
            "is read of a description; keep arrays in .npz"
        )
    return contents


def require_size(path: Path, size: float, largest: int = LARGEST_VALUES) -> None:
    """Raise InvalidInput where a file holds more bytes than are read."""
    if size > largest:
        raise InvalidInput(
            f"{said_file(path)}: holds {size / GIB:.3g} GiB, at most {largest / GIB:.3g} GiB "
            f"are read of {path.suffix}; take fewer rows or columns"
        )


def check_claims(path: Path, names: tuple[str, ...]) -> None:
    """Raise InvalidInput where arrays of an .npz are too large, or claim more than there is."""
    total = 0
    with ZipFile(path) as archive:
        for name in names:
            member = archive.getinfo(f"{name}.npy")
            with archive.open(member) as stream:
                version = npy.read_magic(stream)
                read = npy.read_array_header_1_0 if version[0] == 1 else npy.read_array_header_2_0
                shape, _, dtype = read(stream)
                header = stream.tell()
            if dtype.hasobject:
                raise ValueError("Object arrays are not read")
            claimed = dtype.itemsize * math.prod(int(side) for side in shape)
            total += claimed
            require_size(path, max(total, member.file_size))
            if claimed != member.file_size - header:
                raise InvalidInput(
                    f"{said_file(path)}: the header of {name} claims {claimed} bytes, there are "
                    f"{member.file_size - header}; restore it"
                )


# What numpy and zipfile raise on files that are no .npz, or damaged ones.
_BROKEN = (
    *(KeyError, ValueError, TypeError, IndexError, EOFError, AttributeError, OverflowError),
    *(BadZipFile, zlib.error, NotImplementedError, RuntimeError, MemoryError),
)


class Damaged(ValueError):
    """A file does not hold what was written to it; the message is a short reason."""


def array_names(path: Path) -> tuple[str, ...]:
    """Return the names of the arrays in an .npz; raise Damaged if it cannot be read."""
    try:
        with ZipFile(path) as archive:
            return tuple(name.removesuffix(".npy") for name in archive.namelist())
    except _BROKEN as error:
        raise _damaged(error) from None


def read_arrays(path: Path, names: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """Return arrays of an .npz by name; raise Damaged if they cannot be read."""
    try:
        check_claims(path, names)
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in names}
    except InvalidInput:
        raise
    except _BROKEN as error:
        raise _damaged(error) from None


def _damaged(error: Exception) -> Damaged:
    reason = " ".join(str(error).split())
    return Damaged(f"{type(error).__name__}: {reason}" if reason else type(error).__name__)


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays to an .npz, which appears whole or not at all."""

    def write(target: Path) -> None:
        with target.open("wb") as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]

    replace_file(path, write)


def make_folder(folder: Path, *, field: str) -> None:
    """Make a folder with its parents; raise InvalidInput, naming the field, where that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(
            f"{field}={str(folder)!r}: cannot be written ({error.strerror}); choose another folder"
        ) from None


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a file beside `path`, then put it in its place: whole or not at all."""
    target = path.resolve()  # a link stays a link
    part = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        if target.exists() and not target.is_file():
            write(target)  # a device or a pipe cannot be replaced
            return
        try:
            write(part)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidInput(
            f"file={str(path)!r}: cannot be written ({reason}); check the folder"
        ) from None


def set_aside(path: Path, *, keep: bytes | None = None) -> Path:
    """Return the new name of a damaged file, NAME.damaged; nothing is deleted.

    `keep` are the parts of it that are whole: they take its place, so that at no time they are
    missing.
    """
    names = (f"{path.name}.damaged{'' if n == 1 else f'-{n}'}" for n in count(1))
    aside = next(path.with_name(name) for name in names if not path.with_name(name).exists())
    try:
        if keep is None:
            path.rename(aside)
            return aside
        replace_file(aside, lambda copy: shutil.copyfile(path, copy))
        replace_file(path, lambda part: part.write_bytes(keep))
    except OSError as error:
        raise InvalidInput(
            f"file={str(path)!r}: is damaged and cannot be renamed ({error.strerror}); move it away"
        ) from None
    return aside


_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_NUMBER = "number"
_FORMAT, _CHECKSUM = "format", "checksum"


def seal(record: dict[str, Any], form: int, *, indent: int | None = None) -> str:
    """Return the record as JSON that begins with its format and ends with its checksum.

    The checksum is that of the text before it, to the letter. NaN and infinities become
    {"number": …}.
    """
    plain = {_FORMAT: form, **explicit(record)}
    text = json.dumps(plain, ensure_ascii=False, allow_nan=False, indent=indent)
    head = text[:-1].rstrip()
    return head + _tail(head)


def unseal(text: str, form: int) -> dict[str, Any]:
    """Return the record of a sealed text; raise Damaged unless it is as `seal` wrote it."""
    head, _, tail = text.rpartition(f', "{_CHECKSUM}": "')
    if not head or text != head + _tail(head):
        raise Damaged("the checksum does not fit" if tail != text else "it has no checksum")
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError):
        raise Damaged("it is not JSON") from None
    found = plain.pop(_FORMAT, None)
    if found != form:
        raise Damaged(f"its format is {found}, not {form}")
    del plain[_CHECKSUM]
    record: dict[str, Any] = _restored(plain)
    return record


def _tail(head: str) -> str:
    return f', "{_CHECKSUM}": "{checksum_of_text(head)}"}}'


def explicit(value: Any) -> Any:
    """Return plain values with {"number": …} in place of NaN and infinities."""
    if isinstance(value, dict):
        return {key: explicit(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [explicit(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {_NUMBER: "NaN" if math.isnan(value) else f"{'-' * (value < 0)}Infinity"}
    return value


def _restored(value: Any) -> Any:
    """Return plain values with NaN and infinities again."""
    if isinstance(value, dict):
        if set(value) == {_NUMBER} and value[_NUMBER] in _SPECIAL:
            return _SPECIAL[value[_NUMBER]]
        return {key: _restored(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_restored(inner) for inner in value]
    return value
