"""A problem in another dimension, its shape kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onegrad.describe.arrays import Array
from onegrad.describe.checks import whole_number
from onegrad.describe.exceptions import InvalidInput
from onegrad.problem.problem import Problem

COUNTS = ("readout.samples", "training.samples", "network.width", "test_samples")
OF_ONE_DIMENSION = ("trace", "norm")  # of scaling


def resized(problem: Problem, dimension: int) -> Problem:
    """Return the problem in this dimension n, with samples and width in proportion.

    Counts of samples and neurons are multiplied by n over the present dimension and rounded.
    Ratios, exponents and rates per something follow by themselves; a rate, spread or penalty that
    is a plain number stays. What belongs to one dimension is refused: arrays, real data, and given
    Tr Σ or ‖Σ‖.
    """
    whole_number("dimensions", dimension, least=1)
    if dimension == problem.dimension:
        return problem
    _require_no_dimension_of_its_own(problem)
    factor = dimension / problem.dimension
    fields = problem.model_dump()
    changes: dict[str, Any] = {"dimension": dimension}
    for path in COUNTS:
        count = _at(fields, path)
        if count is not None:
            changes[path] = max(1, round(factor * count))
    return problem.replace(changes)


def _require_no_dimension_of_its_own(problem: Problem) -> None:
    rule = f"belongs to dimension={problem.dimension}; leave dimensions out"
    if not problem.data.exact_moments:
        raise InvalidInput(f"data.kind={problem.data.kind!r}: {rule}")
    for path, array in _arrays(problem.model_dump(), ""):
        raise InvalidInput(f"{path}: has shape {array.shape}, {rule}")
    for name in OF_ONE_DIMENSION:
        value = getattr(problem.scaling, name)
        if value is not None:
            raise InvalidInput(f"scaling.{name}={value:g}: {rule}")


def _at(fields: dict[str, Any], path: str) -> Any:
    for name in path.split("."):
        fields = fields[name]
    return fields


def _arrays(value: Any, path: str) -> Iterator[tuple[str, Array]]:
    """Yield every array of dumped fields with its path."""
    if isinstance(value, Array):
        yield path, value
        return
    if isinstance(value, list | tuple):
        value = {f"{index}": entry for index, entry in enumerate(value)}
    if isinstance(value, dict):
        for name, entry in value.items():
            yield from _arrays(entry, f"{path}.{name}" if path else name)
