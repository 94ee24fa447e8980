"""The setting of a panel as a table "field: value", for the report to show below the caption."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

from onegrad.plotting.style import metric_label, value_text
from onegrad.sweeps.sweep import Sweep

FEW_VALUES = 5  # of an axis, so that all of them are listed
DERIVED_FROM = {"dimension", "scaling.strength", "scaling.weighting"}  # η and θ


def setting_rows(sweep: Sweep, metric: str) -> list[tuple[str, str]]:
    """Return a row for every field of the problem, those of the axes first, and the models."""
    problem, scaling = sweep.problem, sweep.problem.scaling
    rows = [(path, _range(values)) for path, values in sweep.axes.items()]
    rows += [
        (path, _text(value))
        for path, value in _fields(problem.to_dict())
        if not any(fnmatchcase(path, axis) for axis in sweep.axes) and not path.endswith("digest")
    ]
    if scaling.strength is not None and not DERIVED_FROM & {*sweep.axes}:
        rate = scaling.learning_rate_at(
            dimension=problem.dimension, width=problem.width, samples=problem.samples_per_step
        )
        rows.append(("η = n^(βα)", f"{rate:.3g}"))
        rows.append(("θ = n^(β(1−α))", f"{scaling.spread_at(problem.dimension):.3g}"))
    trials = f"means over {sweep.trials} trials" if "simulate" in sweep.verbs else "theory alone"
    rows.append(("models", ", ".join(str(model) for model in sweep.models)))
    rows.append(("shown", f"{metric_label(metric)}, {trials}"))
    return rows


def _fields(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the fields of nested tables, and of lists of tables, by dotted path."""
    for name, value in table.items():
        path = f"{prefix}{name}"
        tables = value
        if isinstance(value, list) and value and all(isinstance(part, dict) for part in value):
            tables = {str(place): part for place, part in enumerate(value)}
        if isinstance(tables, dict):
            yield from _fields(tables, f"{path}.")
        else:
            yield path, value


def _range(values: Sequence[Any]) -> str:
    """Return the values of an axis; of many numbers the ends and their count."""
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(values) > FEW_VALUES and len(numbers) == len(values):
        ends = f"{value_text(min(numbers))} to {value_text(max(numbers))}"
        return f"{ends} ({len(values)} values)"
    listed = (_text(value) for value in values)
    return ", ".join(f"({value})" if "," in value else value for value in listed)


def _text(value: Any) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else value_text(value)
