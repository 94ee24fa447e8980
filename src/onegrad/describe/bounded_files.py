"""Limits on what is read from files of others: a size known before, whatever a header claims."""

from __future__ import annotations

import math
from pathlib import Path
from zipfile import ZipFile

from numpy.lib import format as npy

from onegrad.describe.exceptions import InvalidInput

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
