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

from onegrad.describe.digests import digest
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.files import replace_file
from onegrad.diagnostics.records import Alignment, FeatureSpikes, Singular, StepRecord
from onegrad.problem.problem import Problem
from onegrad.problem.registered import registered_marks
from onegrad.training.run import RunState
from onegrad.training.streams import NUMERICS

FORMAT = 3  # of a state and of a stored result: what is written differently is not read


def run_key(problem: Problem, seed: int, trial: int) -> str:
    """Return a digest of all that determines a run's numbers, step by step.

    The number of steps is no part of it: a run of more steps begins with the same ones.
    """
    fields = problem.identity()
    fields["training"] = {k: v for k, v in fields["training"].items() if k != "steps"}
    return digest([FORMAT, fields, seed, trial, NUMERICS, registered_marks(problem)])


@dataclass(frozen=True)
class Saved:
    """The run's state after the last record, and the records."""

    state: RunState
    records: tuple[StepRecord, ...]

    def write(self, path: Path, problem: Problem, seed: int, trial: int) -> None:
        """Replace the file by this state."""
        texts = json.dumps([_to_plain(record) for record in self.records])

        def save(target: Path) -> None:
            with target.open("wb") as file:
                arrays: dict[str, Any] = {"first": self.state.first}
                if self.state.momentum is not None:
                    arrays["momentum"] = self.state.momentum
                key = np.array(run_key(problem, seed, trial))
                np.savez(file, records=np.array(texts), key=key, **arrays)

        replace_file(path, save)

    @classmethod
    def load(cls, path: Path, problem: Problem, seed: int, trial: int) -> Saved | None:
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
                momentum = stored["momentum"] if "momentum" in stored.files else None
                records = [_from_plain(plain) for plain in json.loads(str(stored["records"]))]
        except (OSError, KeyError, ValueError, TypeError, EOFError, BadZipFile, zlib.error):
            raise InvalidInput(
                f"state={str(path)!r}: cannot be read as the state of a run; remove it"
            ) from None
        if key != run_key(problem, seed, trial):
            raise InvalidInput(
                f"state={str(path)!r}: belongs to another problem, seed or trial; remove it, or "
                "name another file"
            )
        if first.shape != (problem.width, problem.dimension) or not records:
            raise InvalidInput(f"state={str(path)!r}: is not whole; remove it")
        return cls(RunState(len(records) - 1, first, momentum), tuple(records))


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
