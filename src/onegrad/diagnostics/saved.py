"""The state of a run on disk: the first layer and the records so far, whole or not at all.

A state carries a format, and in the comment that ends a zip archive a checksum of all bytes before.
A damaged one is said, set aside, and the run begins anew.
"""

from __future__ import annotations

import json
import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np

from onegrad.describe.digests import checksum_of_stream, digest
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.files import replace_file, set_aside
from onegrad.describe.guarded import Damaged
from onegrad.diagnostics.records import Alignment, FeatureSpikes, Singular, StepRecord
from onegrad.problem.problem import Problem
from onegrad.problem.registered import registered_marks
from onegrad.training.run import RunState
from onegrad.training.streams import NUMERICS

MEANING = 3  # of the numbers in a state: what is computed differently is another run's
FORMAT = 4  # of the file; up to 3 there was no checksum and no number
COMMENT = b"onegrad state, checksum "
DIGITS = 16


def run_key(problem: Problem, seed: int, trial: int) -> str:
    """Return a digest of all that determines a run's numbers, step by step.

    The number of steps is no part of it: a run of more steps begins with the same ones.
    """
    fields = problem.identity()
    fields["training"] = {k: v for k, v in fields["training"].items() if k != "steps"}
    return digest([MEANING, fields, seed, trial, NUMERICS, registered_marks(problem)])


@dataclass(frozen=True)
class Saved:
    """The run's state after the last record, and the records."""

    state: RunState
    records: tuple[StepRecord, ...]

    def write(self, path: Path, problem: Problem, seed: int, trial: int) -> None:
        """Replace the file by this state."""
        texts = json.dumps([_to_plain(record) for record in self.records])
        arrays: dict[str, Any] = {
            "format": np.array(FORMAT),
            "key": np.array(run_key(problem, seed, trial)),
            "records": np.array(texts),
            "first": self.state.first,
        }
        if self.state.momentum is not None:
            arrays["momentum"] = self.state.momentum
        replace_file(path, lambda target: _save(target, arrays))

    @classmethod
    def load(cls, path: Path, problem: Problem, seed: int, trial: int) -> Saved | None:
        """Return the state in the file, None where there is none that is whole; refuse another's.

        A damaged file is set aside with a warning.
        """
        if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
            raise InvalidInput(
                f"state={str(path)!r}: its folder cannot be written; make it, or name another file"
            )
        if not path.exists():
            return None
        try:
            arrays = _arrays(path)
            if str(arrays["key"]) != run_key(problem, seed, trial):
                raise InvalidInput(
                    f"state={str(path)!r}: belongs to another problem, seed or trial; remove it, "
                    "or name another file"
                )
            return cls._of(arrays, problem)
        except Damaged as damage:
            aside = set_aside(path)
            warnings.warn(
                f"state={str(path)!r}: is damaged ({damage}); set aside as {aside.name}, and the "
                "run begins anew",
                stacklevel=5,
            )
            return None

    @classmethod
    def _of(cls, arrays: dict[str, Any], problem: Problem) -> Saved:
        """Return the state in a file's arrays; raise Damaged unless it is one of this problem."""
        first, momentum = arrays["first"], arrays.get("momentum")
        shape = (problem.width, problem.dimension)
        if any(a.shape != shape or a.dtype.kind != "f" for a in (first, momentum) if a is not None):
            raise Damaged("its layer has another shape")
        try:
            plain = json.loads(str(arrays["records"]))
            records = tuple(_from_plain(fields) for fields in plain)
        except (ValueError, TypeError, KeyError, AttributeError):
            raise Damaged("its records cannot be read") from None
        if [record.step for record in records] != list(range(len(records))) or not records:
            raise Damaged("records are missing")
        return cls(RunState(len(records) - 1, first, momentum), records)


def _arrays(path: Path) -> dict[str, Any]:
    """Return the arrays of a state file; raise Damaged unless they are as they were written.

    A sound file of other arrays is refused, not damaged: somebody may need it.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise InvalidInput(
            f"state={str(path)!r}: cannot be read ({error.strerror}); name another file"
        ) from None
    try:
        with file, np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except Exception as error:  # zip, zlib and numpy raise about anything on damaged bytes
        if path.suffix != ".npz" and path.stat().st_size:
            raise InvalidInput(
                f"state={str(path)!r}: cannot be read as the state of a run; name a file that ends "
                "in .npz"
            ) from None
        raise Damaged(f"{type(error).__name__} when it is read") from None
    if not {"key", "records", "first"} & set(arrays):
        raise InvalidInput(
            f"state={str(path)!r}: holds other arrays than the state of a run; name another file"
        )
    if not {"key", "records", "first"} <= set(arrays):
        raise Damaged("a part is missing")
    _require_unaltered(path, arrays)
    return arrays


def _save(target: Path, arrays: dict[str, Any]) -> None:
    """Write the arrays, then the checksum of the file at its end."""
    with target.open("wb") as file:
        np.savez(file, **arrays)
    with ZipFile(target, "a") as archive:
        archive.comment = COMMENT + bytes(DIGITS)
    with target.open("r+b") as file:
        total = checksum_of_stream(file, target.stat().st_size - DIGITS)
        file.seek(-DIGITS, os.SEEK_END)
        file.write(total.encode())


def _require_unaltered(path: Path, arrays: dict[str, Any]) -> None:
    """Raise Damaged unless format and checksum fit; say where an older file has none."""
    length = path.stat().st_size - DIGITS
    with path.open("rb") as file:
        total = checksum_of_stream(file, length)
        end = file.read()
        file.seek(-DIGITS - len(COMMENT), os.SEEK_END)
        has_checksum = file.read(len(COMMENT)) == COMMENT
    if not has_checksum and "format" not in arrays:
        warnings.warn(
            f"state={str(path)!r}: has no checksum yet, an earlier onegrad wrote it; read as it is",
            stacklevel=7,
        )
        return
    if end != total.encode() or not has_checksum:
        raise Damaged("the checksum does not fit")
    if str(arrays.get("format")) != str(FORMAT):
        raise Damaged(f"its format is {arrays.get('format')}, not {FORMAT}")


def _to_plain(record: StepRecord) -> dict[str, Any]:
    return {
        name: _lists(vars(value)) if name in _PARTS and value is not None else value
        for name, value in vars(record).items()
    }


def _lists(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in fields.items()
    }


_PARTS: dict[str, Any] = {
    "gradient": Alignment,
    "weights": Alignment,
    "gradient_spectrum": Singular,
    "change_spectrum": Singular,
    "features": FeatureSpikes,
}


def _from_plain(plain: dict[str, Any]) -> StepRecord:
    fields = dict(plain)
    for name, kind in _PARTS.items():
        if fields[name] is not None:
            parts = {
                key: tuple(value) if key == "predicted" and value is not None else _array(value)
                for key, value in fields[name].items()
            }
            fields[name] = kind(**parts)
    return StepRecord(**fields)


def _array(value: Any) -> Any:
    return np.asarray(value, dtype=float) if isinstance(value, list) else value
