"""The state of a run on disk: the first layer and the records so far, whole or not at all."""

from __future__ import annotations

import json
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from onegrad.calculus import functions
from onegrad.describe.arrays import Floats
from onegrad.describe.digests import digest
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.files import replace_file
from onegrad.steps.result import Alignment, FeatureSpikes, Singular, StepRecord
from onegrad.steps.steps_problem import StepsProblem
from onegrad.training.streams import NUMERICS

FORMAT = 2  # of a state and of a stored result: what is written differently is not read


def run_key(problem: StepsProblem, seed: int, trial: int) -> str:
    """Return a digest of all that determines a run's numbers, step by step.

    The number of steps is no part of it: a run of more steps begins with the same ones.
    """
    marks = [functions.fingerprint(name) for name in problem.teacher.links]
    marks.append(functions.fingerprint(problem.activation))
    fields = {name: value for name, value in problem.to_dict().items() if name != "steps"}
    return digest([FORMAT, fields, seed, trial, NUMERICS, marks])


@dataclass(frozen=True)
class Saved:
    """The first layer after the last record, and the records."""

    first: Floats
    records: tuple[StepRecord, ...]

    def write(self, path: Path, problem: StepsProblem, seed: int, trial: int) -> None:
        """Replace the file by this state."""
        texts = json.dumps([_to_plain(record) for record in self.records])

        def save(target: Path) -> None:
            with target.open("wb") as file:
                np.savez(
                    file,
                    first=self.first,
                    records=np.array(texts),
                    key=np.array(run_key(problem, seed, trial)),
                )

        replace_file(path, save)

    @classmethod
    def load(cls, path: Path, problem: StepsProblem, seed: int, trial: int) -> Saved | None:
        """Return the state in the file, None where there is no file; refuse another run's."""
        if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
            raise InvalidInput(
                f"state={str(path)!r}: its folder cannot be written; make it, or name another file"
            )
        if not path.exists():
            return None
        try:
            with np.load(path, allow_pickle=False) as stored:
                key, first = str(stored["key"]), stored["first"]
                records = [_from_plain(plain) for plain in json.loads(str(stored["records"]))]
        except (OSError, KeyError, ValueError, TypeError, EOFError, BadZipFile, zlib.error):
            raise InvalidInput(
                f"state={str(path)!r}: cannot be read as the state of a run; remove it"
            ) from None
        if key != run_key(problem, seed, trial):
            raise InvalidInput(
                f"state={str(path)!r}: belongs to another problem or seed; remove it, or name "
                "another file"
            )
        if first.shape != (problem.width, problem.dimension) or not records:
            raise InvalidInput(f"state={str(path)!r}: is not whole; remove it")
        return cls(first, tuple(records))


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
