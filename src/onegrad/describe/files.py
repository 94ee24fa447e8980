"""Files that appear whole or not at all, and damaged ones that are set aside."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path

from onegrad.describe.exceptions import InvalidInput


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
