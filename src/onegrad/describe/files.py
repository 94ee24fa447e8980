"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
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
