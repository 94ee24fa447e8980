"""A sweep as a value: one base problem, axes over any of its fields, models, trials and a seed."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field, PlainValidator, model_validator

from onegrad.arrays import Array
from onegrad.equivalents import Model
from onegrad.models import resolve_models
from onegrad.problem import Problem
from onegrad.problem_file import read_fields, write_value
from onegrad.resources import check_mixture_memory
from onegrad.validation import Count, InvalidInput, Value, real_numbers, shown, whole_number

Verb = Literal["simulate", "predict"]
MOST_SETTINGS = 1_000_000


def _axis(values: Any) -> tuple[Any, ...]:
    """Return the values of an axis: a list, or a range of `count` values from start to stop."""
    if isinstance(values, Mapping):
        return _range(dict(values))
    if isinstance(values, str | Array) or not isinstance(values, list | tuple | np.ndarray):
        raise ValueError("must be a list, or a table with start, stop and count; correct it")
    listed = tuple(values.tolist() if isinstance(values, np.ndarray) else values)
    if not listed:
        raise ValueError("must hold at least one value; add one")
    return listed


def _range(table: dict[str, Any]) -> tuple[Any, ...]:
    spacing = table.pop("spacing", "linear")
    if set(table) != {"start", "stop", "count"} or spacing not in ("linear", "log"):
        raise ValueError('must have start, stop, count, and spacing "linear" or "log"; correct it')
    start, stop = real_numbers([table["start"], table["stop"]])
    count = whole_number("count", table["count"], least=1)
    if spacing == "log" and not (start > 0 and stop > 0):
        raise ValueError("a log range must start and stop above 0; change it")
    space = np.geomspace if spacing == "log" else np.linspace
    numbers = [float(x) for x in space(start, stop, count)]
    whole = all(isinstance(table[end], int) for end in ("start", "stop"))
    if whole and all(abs(x - round(x)) <= 1e-9 * abs(x) for x in numbers):
        return tuple(round(x) for x in numbers)
    return tuple(numbers)


def _axes(table: Any) -> dict[str, tuple[Any, ...]]:
    if not isinstance(table, Mapping):
        raise ValueError("must be a table of axes; correct it")
    axes = {}
    for name, values in table.items():
        if isinstance(values, Mapping) and not {"start", "stop", "count"} & set(values):
            # TOML reads network.width = […] without quotes as a table in a table.
            axes.update({f"{name}.{inner}": axis for inner, axis in _axes(values).items()})
            continue
        try:
            axes[str(name)] = _axis(values)
        except ValueError as error:
            raise InvalidInput(f"{name}={shown(values)}: {error}") from None
    return axes


def _names(value: Any) -> Any:
    return tuple(value.split(",")) if isinstance(value, str) else value


def _groups(value: Any) -> Any:
    """Return groups of axes; one flat list is one group."""
    listed = isinstance(value, list | tuple)
    return (tuple(value),) if listed and value and isinstance(value[0], str) else value


class Sweep(Value):
    """Settings × trials: `axes` give values to fields of `problem`, by dotted path.

    Axes multiply; those named in one group of `zip` move together. An axis over `ridge` costs no
    trials of its own: one decomposition serves all penalties.
    """

    problem: Problem = Problem()
    axes: Annotated[dict[str, tuple[Any, ...]], PlainValidator(_axes)] = Field({})
    zip: Annotated[tuple[tuple[str, ...], ...], BeforeValidator(_groups)] = ()
    models: Annotated[tuple[str, ...], BeforeValidator(_names)] = ("network", "hermite")
    verbs: Annotated[tuple[Verb, ...], BeforeValidator(_names)] = ("simulate",)
    trials: Count = 8
    draws: Count = 4
    method: Literal["single", "conditional"] = "single"
    seed: int = 0

    @model_validator(mode="after")
    def _consistent(self) -> Sweep:
        whole_number("seed", self.seed, least=0)
        if not self.verbs:
            raise ValueError("verbs=(): must name simulate, predict or both; add one")
        grouped = [name for group in self.zip for name in group]
        for name in grouped:
            if name not in self.axes:
                raise ValueError(f"zip={name!r}: must name an axis; add it to axes")
            if grouped.count(name) > 1:
                raise ValueError(f"zip={name!r}: must stand in one group; remove it from others")
        for group in self.zip:
            lengths = {name: len(self.axes[name]) for name in group}
            if len(set(lengths.values())) > 1:
                raise ValueError(f"zip={lengths}: axes of a group must be equally long; change one")
        return self

    @property
    def varied(self) -> list[str]:
        """The axes that make settings: all but an ungrouped `ridge`."""
        grouped = {name for group in self.zip for name in group}
        return [name for name in self.axes if name != "ridge" or name in grouped]

    def settings(self) -> list[Setting]:
        """Return every setting with its problem and resolved models, checked, in axis order."""
        base = self.problem
        if "ridge" in self.axes and "ridge" not in self.varied:
            base = base.replace(ridge=self.axes["ridge"])
        groups: list[tuple[str, ...]] = []
        for name in self.varied:
            group = next((g for g in self.zip if name in g), (name,))
            if group not in groups:
                groups.append(group)
        sizes = [range(len(self.axes[group[0]])) for group in groups]
        total = int(np.prod([len(size) for size in sizes], dtype=float))
        if total > MOST_SETTINGS:
            raise InvalidInput(
                f"axes: give {total} settings, at most {MOST_SETTINGS} are taken; shorten one"
            )
        settings = []
        for places in itertools.product(*sizes):
            coordinates = {
                name: self.axes[name][place]
                for group, place in zip(groups, places, strict=True)
                for name in group
            }
            settings.append(self._setting(base, coordinates))
        return settings

    def _setting(self, base: Problem, coordinates: dict[str, Any]) -> Setting:
        changes = {name.replace(".", "__"): value for name, value in coordinates.items()}
        try:
            problem = base.replace(**changes) if changes else base
            check_mixture_memory(problem)
            models = resolve_models(problem, self.models, seed=self.seed)
        except InvalidInput as error:
            raise InvalidInput(f"axes: {error}" if coordinates else str(error)) from None
        return Setting(coordinates, problem, tuple(models))

    @property
    def digest(self) -> str:
        """SHA-256 of everything that the sweep asks for."""
        plain = self.model_dump(mode="python", exclude={"problem"})
        text = json.dumps([self.problem.to_dict(), plain], sort_keys=True, default=_described)
        return hashlib.sha256(text.encode()).hexdigest()

    @classmethod
    def load(cls, path: str | Path) -> Sweep:
        """Return the sweep in a TOML file; arrays come from the `.npz` beside it."""
        return cls(**read_fields(Path(path)))

    def save(self, path: str | Path) -> None:
        """Write the sweep to a TOML file, large arrays to an `.npz` of the same name."""
        write_value(self, Path(path))


@dataclass(frozen=True)
class Setting:
    """One point of a sweep: coordinates along the axes, the problem there, its models."""

    coordinates: dict[str, Any]
    problem: Problem
    models: tuple[Model, ...]


def _described(value: Any) -> Any:
    return {"digest": value.digest} if isinstance(value, Array) else repr(value)
