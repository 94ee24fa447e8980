"""A sweep as a value: one base problem, axes over any of its fields, models, trials and a seed."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field, PlainValidator, model_validator

from onegrad.core.model_names import resolve_models
from onegrad.core.models import Model
from onegrad.core.problem import Problem
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import Array, path_of, real_numbers, shown, whole_number
from onegrad.describe.tables import FieldsAsTable
from onegrad.describe.toml import read_fields
from onegrad.describe.value import Count, Document, Text, complete_repr, count_fields
from onegrad.theory.methods import DEFAULT_METHOD, Method, require
from onegrad.verbs.cost import check_mixture_memory

Verb = Literal["simulate", "predict"]
RIDGE = "readout.ridge"
MOST_SETTINGS = 1_000_000
MOST_RUNS = 10_000_000


def _axis(name: str, values: Any) -> tuple[Any, ...]:
    """Return the values of an axis, given as a list or as a table with start, stop and count."""
    if isinstance(values, Mapping):
        return _range(dict(values), whole=name.rpartition(".")[2] in count_fields(Problem))
    if isinstance(values, str | Array) or not isinstance(values, list | tuple | np.ndarray):
        raise ValueError("must be a list, or a table with start, stop and count; try [1, 2]")
    listed = tuple(_plain_value(value) for value in values)
    if not listed:
        raise ValueError("must have at least one value; add one")
    return listed


def _plain_value(value: Any) -> Any:
    """Return a value that TOML can express: numpy numbers as Python's, arrays as `Array`."""
    if value is None:
        raise ValueError("must not contain None; write the default out")
    if isinstance(value, np.generic):
        return value.item()
    return Array(value) if isinstance(value, np.ndarray) else value


def _range(table: dict[str, Any], *, whole: bool) -> tuple[Any, ...]:
    """Return values with equal distances or ratios, rounded for fields of counts."""
    spacing = table.pop("spacing", "linear")
    if set(table) != {"start", "stop", "count"} or spacing not in ("linear", "log"):
        raise ValueError(
            'must have start, stop, count, and perhaps spacing = "log"; use these names'
        )
    start, stop = real_numbers([table["start"], table["stop"]])
    count = whole_number("count", table["count"], least=1)
    if count > MOST_SETTINGS:
        raise ValueError(f"must have at most {MOST_SETTINGS} values; lower count")
    if not (np.isfinite(start) and np.isfinite(stop) and np.isfinite(stop - start)):
        raise ValueError("must start and stop at finite numbers; change it")
    if spacing == "log" and not (start > 0 and stop > 0):
        raise ValueError("a log range must start and stop above 0; change it")
    space = np.geomspace if spacing == "log" else np.linspace
    numbers = [float(x) for x in space(start, stop, count)]
    return tuple(dict.fromkeys(round(x) for x in numbers)) if whole else tuple(numbers)


def _axes(table: Any) -> dict[str, tuple[Any, ...]]:
    if not isinstance(table, Mapping):
        raise ValueError('must be a table of axes; try {"network.width" = [100, 200]}')
    axes = {}
    for name, values in table.items():
        if isinstance(values, Mapping) and not {"start", "stop", "count"} & set(values):
            # In TOML, network.width = […] without quotes is a table in a table.
            if not values:
                raise InvalidInput(f"{name}={{}}: must have at least one axis; add one")
            axes.update(_axes({f"{name}.{inner}": axis for inner, axis in values.items()}))
            continue
        if "__" in str(name):
            raise InvalidInput(f"{name}: write the path with dots; rename it")
        try:
            axes[str(name)] = _axis(str(name), values)
        except ValueError as error:
            raise InvalidInput(f"{name}={shown(values)}: {error}") from None
    return axes


def _names(value: Any) -> Any:
    if isinstance(value, str):
        return tuple(value.split(","))
    if not isinstance(value, list | tuple):
        raise ValueError('must be a list of names; try ["network"]')
    return value


def _groups(value: Any) -> Any:
    """Return groups of axes; one flat list is one group."""
    if not isinstance(value, list | tuple):
        raise ValueError("must be a list of axes, or of groups of axes; name axes of the sweep")
    return (tuple(value),) if value and isinstance(value[0], str) else value


class Sweep(Document):
    """Settings × trials: `axes` give values to fields of `problem`, by dotted path.

    Axes multiply; axes in one group of `zip` move together. An axis over `readout.ridge` needs no
    trials of its own: one decomposition serves all penalties. An axis over `training.steps` needs
    one run: the longer one continues the shorter one, unless it is observed. `observe` stores the
    observed steps of every trial in its row, with "neurons" also the overlaps of every neuron.
    """

    problem: Problem = Problem()
    axes: Annotated[dict[str, tuple[Any, ...]], PlainValidator(_axes)] = Field(default={})
    zip: Annotated[tuple[tuple[Text, ...], ...], BeforeValidator(_groups)] = ()
    models: Annotated[tuple[Text, ...], BeforeValidator(_names)] = ("network", "hermite")
    verbs: Annotated[tuple[Verb, ...], BeforeValidator(_names)] = ("simulate",)
    trials: Count = 8
    draws: Count = 4
    method: Method = DEFAULT_METHOD
    observe: Literal["no", "steps", "neurons"] = "no"
    seed: Annotated[int, PlainValidator(lambda n: whole_number("seed", n, least=0))] = 0

    @property
    def draws_of_theory(self) -> int:
        """The number of draws that theory averages over: one for the closed theory."""
        return 1 if self.method == "closed" else self.draws

    @model_validator(mode="after")
    def _consistent(self) -> Sweep:
        if not self.verbs:
            raise ValueError("verbs=(): must name simulate, predict or both; add one")
        if self.observe != "no" and "simulate" not in self.verbs:
            raise ValueError(
                f"observe={self.observe!r}: nothing is trained by predict; add simulate to verbs"
            )
        grouped = [name for group in self.zip for name in group]
        for name in grouped:
            if name not in self.axes:
                raise ValueError(f"zip={name!r}: must name an axis; add it to axes")
            if grouped.count(name) > 1:
                raise ValueError(f"zip={name!r}: must be in one group; remove it from others")
        for group in self.zip:
            lengths = {name: len(self.axes[name]) for name in group}
            if len(set(lengths.values())) > 1:
                raise ValueError(f"zip={lengths}: axes of a group must be equally long; change one")
        for axes in (*self.zip, *((name,) for name in self.axes if name not in grouped)):
            points = list(zip(*(self.axes[name] for name in axes), strict=True))
            if len({json.dumps(point, default=_described) for point in points}) < len(points):
                raise ValueError(f"axes.{axes[0]}: must not repeat a value; remove one")
        return self

    @property
    def varied(self) -> list[str]:
        """The axes along which settings differ: all but an ungrouped `readout.ridge`."""
        grouped = {name for group in self.zip for name in group}
        return [name for name in self.axes if name != RIDGE or name in grouped]

    def settings(self) -> list[Setting]:
        """Return every setting with its problem and resolved models, checked, in axis order."""
        base = self.problem
        if RIDGE in self.axes and RIDGE not in self.varied:
            base = base.replace({RIDGE: self.axes[RIDGE]})
        groups: list[tuple[str, ...]] = []
        for name in self.varied:
            group = next((g for g in self.zip if name in g), (name,))
            if group not in groups:
                groups.append(group)
        sizes = [range(len(self.axes[group[0]])) for group in groups]
        total = int(np.prod([len(size) for size in sizes], dtype=float))
        if total > MOST_SETTINGS:
            raise InvalidInput(
                f"axes: give {total} settings, must give at most {MOST_SETTINGS}; shorten one"
            )
        runs = total * sum(
            self.trials if v == "simulate" else self.draws_of_theory for v in self.verbs
        )
        if runs > MOST_RUNS:
            raise InvalidInput(
                f"trials={self.trials}: give {runs:.3g} runs, must give at most {MOST_RUNS:.0e}; "
                "lower trials, or split the sweep"
            )
        settings = []
        for places in itertools.product(*sizes):
            coordinates = {
                name: self.axes[name][place]
                for group, place in zip(groups, places, strict=True)
                for name in group
            }
            settings.append(self._setting(base, coordinates))
        if "predict" in self.verbs and not any(s.problem.has_theory for s in settings):
            require(settings[0].problem)
        return settings

    def _setting(self, base: Problem, coordinates: dict[str, Any]) -> Setting:
        try:
            problem = base.replace(coordinates) if coordinates else base
            check_mixture_memory(problem)
            if "predict" in self.verbs:
                if problem.has_theory:
                    require(problem)
                problem.data.check_fit()
            models = resolve_models(problem, self.models, seed=self.seed)
        except InvalidInput as error:
            raise InvalidInput(f"axes: {error}" if coordinates else str(error)) from None
        reasons = [model.no_theory for model in models]
        if "predict" in self.verbs and None not in reasons:
            raise InvalidInput(
                f"models={list(self.models)}: {models[0].name} {reasons[0]}, or leave predict out "
                "of verbs"
            )
        return Setting(coordinates, problem, tuple({m.key: m for m in models[::-1]}.values())[::-1])

    def identity(self) -> dict[str, Any]:
        """Return everything that determines the sweep's rows, with data as their digest."""
        axes = {name: [_described(value) for value in axis] for name, axis in self.axes.items()}
        return {**self.to_dict(), "problem": self.problem.identity(), "axes": axes}

    @classmethod
    def load(cls, path: str | Path) -> Sweep:
        """Return the sweep in a TOML file; arrays come from the `.npz` beside it."""
        fields = read_fields(path_of("file", path))
        if not fields:
            raise InvalidInput(
                f"file={shown(str(path))}: is empty; describe a sweep, as in docs/sweeps.md"
            )
        outside = [name for name in fields if name in Problem.model_fields]
        if outside:
            raise InvalidInput(
                f"{outside[0]}: belongs to the problem; move it under [problem], or use simulate"
            )
        return cls(**fields)


@dataclass(frozen=True, repr=False)
class Setting(FieldsAsTable):
    """One point of a sweep: coordinates along the axes, the problem there, its models."""

    coordinates: dict[str, Any]
    problem: Problem
    models: tuple[Model, ...]


def _described(value: Any) -> Any:
    """Return an axis value in the form that it has in a file, also if Python gave it."""
    if isinstance(value, Array):
        return value.values.tolist()
    return value if isinstance(value, int | float | str | bool | list) else complete_repr(value)
