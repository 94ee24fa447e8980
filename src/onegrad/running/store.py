"""Rows of results that are never lost: append-only JSON lines, one file per driver run.

A file is written by one driver alone and never opened for writing again, so a torn line can only
be its last; there are no locks and no database, and nothing is pickled. Every line carries a
checksum; what cannot be read is skipped, counted and said.
"""

from __future__ import annotations

import json
import math
import os
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onegrad.describe.digests import canonical, checksum, digest
from onegrad.describe.exceptions import Failure, InvalidInput

SYNC_SECONDS = 5.0  # how often the file is forced to the disk; a kill loses nothing meanwhile
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_NUMBER = "number"
_REQUIRED = {
    "row": {"key", "status", "verb", "problem", "model", "seed", "trial", "numerics", "blas"},
    "setting": {"sweep", "coordinates", "problem", "fields", "models", "seed", "method"}
    | {"ridges", "steps"},
}


class StoreError(Failure):
    """The store cannot be written any more; what is in it stays readable."""


def encode(record: dict[str, Any]) -> str:
    """Return the record as one line with its checksum; NaN and infinities become {"number": …}."""
    plain = _explicit(record)
    return json.dumps({**plain, "checksum": checksum(plain)}, ensure_ascii=False, allow_nan=False)


def decode(line: str) -> dict[str, Any] | None:
    """Return the record of a line, or None when it is torn or altered."""
    try:
        plain = json.loads(line)
        if not isinstance(plain, dict) or plain.pop("checksum", None) != checksum(plain):
            return None
    except (ValueError, RecursionError):  # not JSON, or JSON that we never write
        return None
    record: dict[str, Any] = _restored(plain)
    return record


@dataclass
class Contents:
    """What a folder holds: settings, the best row of every key, and what was skipped."""

    settings: list[dict[str, Any]] = field(default_factory=list)
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    torn: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)

    @property
    def failed(self) -> list[dict[str, Any]]:
        """The rows whose last word is an error."""
        return [row for row in self.rows.values() if row["status"] == "failed"]

    def kernels(self) -> list[str]:
        """Return the BLAS kernels that computed the rows."""
        return sorted({row["blas"] for row in self.rows.values() if row["blas"]})

    def add(self, row: dict[str, Any]) -> None:
        """Keep the row unless a finished one of the same key is held."""
        earlier = self.rows.get(row["key"])
        if earlier is None or earlier["status"] == "failed":
            self.rows[row["key"]] = row
        elif row["status"] == "ok" and canonical(_explicit(earlier["metrics"])) != canonical(
            _explicit(row["metrics"])
        ):
            self.conflicts.append(row["key"])


def read(directory: Path) -> Contents:
    """Return everything readable in the folder; one that is not there is empty."""
    contents = Contents()
    seen: set[str] = set()
    for path in sorted(directory.glob("rows-*.jsonl")):
        try:
            data = path.read_bytes()
        except OSError as error:
            raise InvalidInput(
                f"file={str(path)!r}: cannot be read ({error.strerror}); restore or remove it"
            ) from None
        for number, line in enumerate(data.split(b"\n"), start=1):
            if not line:
                continue
            record = decode(line.decode("utf-8", errors="replace"))
            if record is None or not _REQUIRED.get(record.get("kind", ""), {""}) <= set(record):
                contents.torn.append(f"{path.name} line {number}")
            elif record["kind"] == "row":
                contents.add(record)
            elif record["kind"] == "setting" and (mark := digest(_explicit(record))) not in seen:
                seen.add(mark)
                contents.settings.append(record)
    return contents


class Writer:
    """The one file that this driver run appends to; made when the first record comes."""

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
        """Write the records as whole lines in one call to the system."""
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
    """Raise InvalidInput when the folder cannot be made or written; nothing is written yet."""
    nearest = next(place for place in (directory, *directory.absolute().parents) if place.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        reason = "no permission" if nearest.is_dir() else f"{str(nearest)!r} is not a folder"
        raise InvalidInput(
            f"out={str(directory)!r}: cannot be written ({reason}); choose another folder"
        )


def prepare(directory: Path) -> None:
    """Make the folder; raise InvalidInput when it cannot be written."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        probe = directory / f".probe-{secrets.token_hex(4)}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InvalidInput(
            f"out={str(directory)!r}: cannot be written ({error.strerror}); choose another folder"
        ) from None


def _explicit(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _explicit(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_explicit(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {_NUMBER: "NaN" if math.isnan(value) else f"{'-' * (value < 0)}Infinity"}
    return value


def _restored(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {_NUMBER} and value[_NUMBER] in _SPECIAL:
            return _SPECIAL[value[_NUMBER]]
        return {key: _restored(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_restored(inner) for inner in value]
    return value
