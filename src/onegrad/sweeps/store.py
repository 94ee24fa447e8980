"""The rows of a folder of sweeps: append-only JSON lines, one file per driver run.

A file is written by one driver alone and never opened for writing again, so only its last line can
be torn; there is no database, and nothing is pickled. Every line has a format and a checksum.
Damaged lines are reported, set aside and computed again.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onegrad.describe.exceptions import Failure, InvalidInput
from onegrad.describe.files import Damaged, canonical, digest, explicit, seal, set_aside, unseal
from onegrad.describe.tables import FieldsAsTable

FORMAT = 2  # of a line
SYNC_SECONDS = 5.0  # between forced writes to the disk; a kill loses nothing meanwhile
_REQUIRED = {
    "row": {"key", "status", "verb", "problem", "model", "seed", "trial", "numerics", "blas"},
    "setting": {"sweep", "coordinates", "problem", "training_problem", "fields", "models", "seed"}
    | {"method", "ridges", "steps", "numerics", "functions"},
}
_BY_STATUS = {"ok": {"metrics"}, "failed": {"error", "traceback"}}


class StoreError(Failure):
    """The store cannot be written any more; its rows stay readable."""


def encode(record: dict[str, Any]) -> str:
    """Return the record as one line with its format and checksum."""
    return seal(record, FORMAT)


def decode(line: str) -> dict[str, Any] | None:
    """Return the record of a line; None if it is torn, altered or of another format."""
    try:
        return unseal(line, FORMAT)
    except (Damaged, RecursionError):
        return None


def _is_whole(record: dict[str, Any] | None) -> bool:
    """Return whether a record has all fields that readers of its kind use."""
    if record is None or not _REQUIRED.get(record.get("kind", ""), {""}) <= set(record):
        return False
    return record["kind"] != "row" or _BY_STATUS.get(record["status"], {""}) <= set(record)


@dataclass(repr=False)
class Contents(FieldsAsTable):
    """The contents of a folder: settings, the best row of every key, and skipped lines."""

    settings: list[dict[str, Any]] = field(default_factory=list)
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    damaged: dict[str, list[int]] = field(default_factory=dict)  # numbers of lines by file
    conflicts: list[str] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)  # of the files, in bytes

    @property
    def torn(self) -> list[str]:
        """The damaged lines by file and number; an empty file counts as one line."""
        return [f"{name} line {n}" for name, lines in self.damaged.items() for n in lines or [1]]

    @property
    def failed(self) -> list[dict[str, Any]]:
        """The rows of trials that raised, and have no other row."""
        return [row for row in self.rows.values() if row["status"] == "failed"]

    def kernels(self) -> list[str]:
        """Return the BLAS kernels that computed the rows."""
        return sorted({row["blas"] for row in self.rows.values() if row["blas"]})

    def add(self, row: dict[str, Any]) -> None:
        """Add the row unless a finished one of the same key is known."""
        earlier = self.rows.get(row["key"])
        if earlier is None or earlier["status"] == "failed":
            self.rows[row["key"]] = row
        elif row["status"] == "ok" and canonical(explicit(earlier["metrics"])) != canonical(
            explicit(row["metrics"])
        ):
            self.conflicts.append(row["key"])


def read(directory: Path) -> Contents:
    """Return everything readable in the folder; a missing folder is empty."""
    contents = Contents()
    seen: set[str] = set()
    for path in _files(directory):
        damaged = []
        data = _bytes_of(path)
        for number, line in enumerate(data.split(b"\n"), start=1):
            if not line:
                continue
            record = decode(line.decode("utf-8", errors="replace"))
            if record is None or not _is_whole(record):
                damaged.append(number)
            elif record["kind"] == "row":
                contents.add(record)
            elif record["kind"] == "setting" and (mark := digest(explicit(record))) not in seen:
                seen.add(mark)
                contents.settings.append(record)
        contents.sizes[path.name] = len(data)
        if damaged or not data.strip():
            contents.damaged[path.name] = damaged
    return contents


def has_changed(directory: Path, contents: Contents) -> bool:
    """Return whether rows were written to the folder since its contents were read."""
    return {path.name: path.stat().st_size for path in _files(directory)} != contents.sizes


def _files(directory: Path) -> list[Path]:
    return sorted(directory.glob("rows-*.jsonl"))


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(
            f"file={str(path)!r}: cannot be read ({error.strerror}); restore or remove it"
        ) from None


def mend(directory: Path, names: Iterable[str]) -> list[str]:
    """Set damaged files aside without their whole lines; return a sentence about each.

    Only the driver that holds the folder's lock may do that.
    """
    notes = []
    for path in (directory / name for name in names):
        if not path.exists():
            continue
        lines = [line for line in _bytes_of(path).split(b"\n") if line]
        whole = [n for n in lines if _is_whole(decode(n.decode("utf-8", errors="replace")))]
        if lines and len(whole) == len(lines):
            continue
        kept = b"".join(line + b"\n" for line in whole)
        aside = set_aside(path, keep=kept if whole else None)
        what = f"{len(lines) - len(whole)} of {len(lines)} lines unreadable" if lines else "empty"
        notes.append(
            f"{path.name}: {what}; set aside as {aside.name}, and missing rows are computed again"
        )
    return notes


class Writer:
    """The one file to which this driver run appends; created with the first record."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._file: int | None = None
        self._synced = time.monotonic()
        prepare(directory)

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._file is not None:
            try:
                os.fsync(self._file)
            finally:
                os.close(self._file)
                self._file = None

    def append(self, records: Iterable[dict[str, Any]]) -> None:
        """Write the records as whole lines in one system call."""
        data = "".join(encode(record) + "\n" for record in records).encode()
        try:
            if self._file is None:
                self._file = os.open(self._new_name(), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            while data:
                data = data[os.write(self._file, data) :]
            if time.monotonic() - self._synced > SYNC_SECONDS:
                os.fsync(self._file)
                self._synced = time.monotonic()
        except OSError as error:
            raise StoreError(
                f"out={str(self._directory)!r}: cannot be written ({error.strerror}); finished "
                "rows are intact: make room, then start the command again"
            ) from None

    def _new_name(self) -> Path:
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        return self._directory / f"rows-{stamp}-{secrets.token_hex(4)}.jsonl"


def check_writable(directory: Path) -> None:
    """Raise InvalidInput if the folder cannot be created or written; nothing is written."""
    nearest = next(place for place in (directory, *directory.absolute().parents) if place.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        reason = "no permission" if nearest.is_dir() else f"{str(nearest)!r} is not a folder"
        raise InvalidInput(
            f"out={str(directory)!r}: cannot be written ({reason}); choose another folder"
        )


def prepare(directory: Path) -> None:
    """Create the folder; raise InvalidInput if it cannot be written."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        probe = directory / f".probe-{secrets.token_hex(4)}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InvalidInput(
            f"out={str(directory)!r}: cannot be written ({error.strerror}); choose another folder"
        ) from None
