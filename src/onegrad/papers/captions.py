"""The setting of a panel as a table "field: value", for the report to show below the caption."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from onegrad.core.problem import Problem
from onegrad.plotting.style import metric_label, value_text
from onegrad.sweeps.sweep import Sweep

FEW_VALUES = 5  # of an axis, so that all of them are listed


def setting_rows(sweep: Sweep, metric: str) -> list[tuple[str, str]]:
    """Return a row for every table of the problem, with the varied fields and the models."""
    problem = sweep.problem
    varied = "; ".join(f"{path} {_range(values)}" for path, values in sweep.axes.items())
    trials = f"means over {sweep.trials} trials" if "simulate" in sweep.verbs else "theory alone"
    return [
        *([("varied", varied)] if varied else []),
        *_tables("", problem.to_dict(), {*sweep.axes}, _derived(problem, {*sweep.axes})),
        ("models", ", ".join(str(model) for model in sweep.models)),
        ("shown", f"{metric_label(metric)}, {trials}"),
    ]


def _tables(
    path: str, table: dict[str, Any], varied: set[str], derived: dict[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield the plain fields of a table in one row, then its inner tables."""
    inner: dict[str, dict[str, Any]] = {}
    plain = []
    for name, value in table.items():
        field = f"{path}.{name}" if path else name
        entries = dict(enumerate(value)) if isinstance(value, list) else {}
        if isinstance(value, dict):
            inner[field] = value
        elif entries and all(isinstance(entry, dict) for entry in entries.values()):
            inner |= {f"{field}.{index}": entry for index, entry in entries.items()}
        elif name != "digest":
            plain.append(f"{name} {'varied' if _is_varied(field, varied) else _text(value)}")
    if path in derived:
        plain.append(derived[path])
    if plain:
        yield path or "problem", "; ".join(plain)
    for field, nested in inner.items():
        yield from _tables(field, nested, varied, derived)


def _is_varied(field: str, varied: set[str]) -> bool:
    anywhere = ".".join("*" if part.isdigit() else part for part in field.split("."))
    return bool({field, anywhere} & varied)


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


def _derived(problem: Problem, varied: set[str]) -> dict[str, str]:
    """Return learning rate and spread where they follow from strength, weighting and dimension."""
    scaling = problem.scaling
    moves = {"dimension", "scaling.strength", "scaling.weighting"} & varied
    if scaling.strength is None or moves:
        return {}
    rate = scaling.learning_rate_at(
        dimension=problem.dimension, width=problem.width, samples=problem.samples_per_step
    )
    spread = scaling.spread_at(problem.dimension)
    return {"scaling": f"hence η = n^(βα) = {rate:.3g}, θ = n^(β(1−α)) = {spread:.3g}"}
