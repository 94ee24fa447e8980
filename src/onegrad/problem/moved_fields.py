"""Fields of older files and programs: where each stands now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onegrad.describe.checks import shown
from onegrad.describe.exceptions import InvalidInput

# Fields of `Problem` and `StepsProblem` of version 0.1, and their places.
MOVED = {
    "samples": "readout.samples",
    "ridge": "readout.ridge",
    "penalty": "readout.penalty",
    "step_samples": "training.samples",
    "steps": "training.steps",
    "batch": "training.samples",
    "batch_exponent": "training.samples_exponent",
    "subtract": "training.subtract",
    "width": "network.width",
    "activation": "network.activation",
    "second_layer": "network.second_layer",
    "network.steps": "training.steps",
    "step_size.exponent": "scaling.change_exponent",
    "step_size": "scaling",
}


def refuse_moved(fields: Mapping[str, Any]) -> None:
    """Raise InvalidInput for a field that stands elsewhere now, with its new place."""
    for path, place in MOVED.items():
        outer, _, inner = path.rpartition(".")
        table = fields.get(outer, {}) if outer else fields
        if isinstance(table, Mapping) and inner in table:
            _refuse(path, table[inner], place)
    if isinstance(fields.get("readout"), str):
        _refuse("readout", fields["readout"], "readout.batch")


def _refuse(path: str, value: Any, place: str) -> None:
    raise InvalidInput(f"{path}={shown(value)}: has moved; write {place} in its place")
