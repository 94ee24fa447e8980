"""The problem: one frozen value that holds everything that determines a trial."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Discriminator, PlainValidator, Tag, model_validator

from onegrad.data.index_teacher import SingleIndex
from onegrad.data.label_teacher import ClassLabels
from onegrad.data.mixture_source import MixtureSource
from onegrad.data.rows.empirical import EmpiricalData
from onegrad.describe.arrays import Array
from onegrad.describe.checks import real_numbers, shown
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.fields import Count
from onegrad.describe.toml import read_fields, write_value
from onegrad.describe.value import Value
from onegrad.problem.architecture import Network
from onegrad.problem.scaling import Scaling

TEST_FACTOR = 5  # test points per training sample when not said, as in the published code


def _ridge(value: Any) -> float | tuple[float, ...]:
    numbers = real_numbers(value)
    if not numbers or not all(np.isfinite(v) and v > 0 for v in numbers):
        raise ValueError("must be finite and greater than 0; change it")
    if len(set(numbers)) < len(numbers):
        raise ValueError("must not repeat a penalty; remove one")
    return numbers[0] if np.ndim(value) == 0 else tuple(numbers)


def _kind_or(default: str) -> Callable[[Any], str]:
    """Return what reads the kind of a description, `default` where it says none."""

    def kind(value: Any) -> str:
        said = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
        return default if said is None else str(said)

    return kind


_teacher_kind, _said_kind = _kind_or("index"), _kind_or("mixture")


def _data_kind(value: Any) -> str:
    """Return the kind of a source; who names a file or inputs means real data."""
    real = isinstance(value, dict) and "kind" not in value and {"file", "inputs"} & set(value)
    return "empirical" if real else _said_kind(value)


TeacherField = Annotated[
    Annotated[SingleIndex, Tag("index")] | Annotated[ClassLabels, Tag("labels")],
    Discriminator(_teacher_kind),
]
DataField = Annotated[
    Annotated[MixtureSource, Tag("mixture")] | Annotated[EmpiricalData, Tag("empirical")],
    Discriminator(_data_kind),
]


class Problem(Value):
    """Data source, teacher, network, scalings and sizes: everything that determines a trial.

    `redraw`: what changes from trial to trial, "all" or "network" (F, w and model noise only, as
    in most published panels). `test`: "exact" integrates the test error over the mixture,
    "sampled" uses `test_samples` points. `precision`: "float64", or "mixed" for products in
    single precision and readouts solved to double.

    On real data (`EmpiricalData`) what is not said is as published: their dimension, class labels,
    sampled test errors, θ = n and η = 1.
    """

    dimension: Count = 1000
    samples: Count = 1000
    step_samples: Count | None = None
    test_samples: Count | None = None
    ridge: Annotated[float | tuple[float, ...], PlainValidator(_ridge)] = 1e-4
    redraw: Literal["all", "network"] = "all"
    test: Literal["exact", "sampled"] = "exact"
    precision: Literal["float64", "mixed"] = "float64"
    scaling: Scaling = Scaling()
    data: DataField = MixtureSource()
    teacher: TeacherField = SingleIndex()
    network: Network = Network()

    @model_validator(mode="before")
    @classmethod
    def _prepare_for_real_data(cls, fields: Any) -> Any:
        """Write out what real data determine, and the published scales for them."""
        if not isinstance(fields, dict) or _data_kind(fields.get("data", {})) != "empirical":
            return fields
        data = fields["data"]
        try:
            source = data if isinstance(data, EmpiricalData) else EmpiricalData(**data)
        except InvalidInput as error:
            raise InvalidInput(f"data.{error}") from None
        follows: dict[str, Any] = {"dimension": source.dimension, "test": "sampled"}
        teacher, scaling = fields.get("teacher", {}), fields.get("scaling", {})
        if isinstance(teacher, dict) and not {"kind", "link", "direction", "norm"} & set(teacher):
            teacher = {"kind": "labels", **teacher}
        if isinstance(scaling, dict):
            direct = {"learning_rate": 1.0, "spread": float(source.dimension)}
            given = {name for name, value in scaling.items() if value is not None}
            default = direct if given & set(direct) else {"strength": 1.0, "weighting": 0.0}
            scaling = {**default, **{name: scaling[name] for name in given}}
        return {**follows, **fields, "data": source, "teacher": teacher, "scaling": scaling}

    @model_validator(mode="before")
    @classmethod
    def _label_two_classes(cls, fields: Any) -> Any:
        """Give two unlabelled components the labels +1 and −1 when the teacher reads labels."""
        if not isinstance(fields, dict) or _teacher_kind(fields.get("teacher", {})) != "labels":
            return fields
        data = fields.get("data", {})
        if _data_kind(data) != "mixture":
            return fields
        try:
            source = data if isinstance(data, MixtureSource) else MixtureSource(**data)
        except (TypeError, InvalidInput):
            return fields  # the field's own validation says what is wrong, and where
        if len(source.components) == 2 and all(c.label is None for c in source.components):
            labelled = tuple(
                c.model_copy(update={"label": label})
                for c, label in zip(source.components, (1.0, -1.0), strict=True)
            )
            return {**fields, "data": source.model_copy(update={"components": labelled})}
        return fields

    @model_validator(mode="after")
    def _consistent(self) -> Problem:
        self.data.check_dimension(self.dimension)
        if self.test == "exact" and not self.data.exact_moments:
            raise ValueError(
                f'test="exact": a source of kind {self.data.kind!r} has no known moments; '
                'use test="sampled"'
            )
        sizes = {"step_samples": self.step_size, "samples": self.samples}
        self.data.check_sizes({**sizes, "test_samples": self.test_size})
        self._check_teacher()
        if self.width < 1:
            raise ValueError(
                f"network.width_ratio={self.network.width_ratio}: gives no neuron with "
                f"{self.samples} samples; raise it"
            )
        return self

    def _check_teacher(self) -> None:
        if isinstance(self.teacher, ClassLabels):
            if isinstance(self.data, EmpiricalData) and len(self.data.part_labels) < 2:
                raise ValueError("data.classes: must be at least two to tell apart; name another")
            for index, label in enumerate(self.data.labels_of_all):
                if label is None:
                    raise ValueError(
                        f"data.components.{index}.label: missing; the teacher reads a label per "
                        "component; add it in Python or in a problem file"
                    )
        elif isinstance(self.teacher.direction, Array):
            if self.teacher.direction.shape != (self.dimension,):
                raise ValueError(
                    f"teacher.direction: has length {self.teacher.direction.shape[0]}, must have "
                    f"dimension={self.dimension}; change one of them"
                )
        elif self.teacher.direction == "spikes" and not self.data.has_spikes:
            raise ValueError(
                'teacher.direction="spikes": the data have no spikes; raise a rank or choose '
                '"random"'
            )

    @property
    def width(self) -> int:
        """k, the number of neurons."""
        if self.network.width is not None:
            return self.network.width
        return round((self.network.width_ratio or 0.0) * self.samples)

    @property
    def step_size(self) -> int:
        """m̃, the samples of the gradient step (as many as for the readout unless said)."""
        return self.samples if self.step_samples is None else self.step_samples

    @property
    def test_size(self) -> int:
        """Test points when sampled: five per training sample unless said."""
        return TEST_FACTOR * self.samples if self.test_samples is None else self.test_samples

    @property
    def ridges(self) -> tuple[float, ...]:
        """The penalties λ as a tuple."""
        return self.ridge if isinstance(self.ridge, tuple) else (self.ridge,)

    @property
    def binary(self) -> bool:
        """Whether labels are ±1, so that a misclassification rate is defined."""
        labels = set(self.data.part_labels)
        return isinstance(self.teacher, ClassLabels) and labels <= {1.0, -1.0}

    @cached_property
    def trained(self) -> Problem:
        """The problem as training sees it: how theory fits a mixture to real data left out."""
        source = self.data.trained
        return self if source == self.data else self.replace(data=source)

    def replace(self, **changes: Any) -> Problem:
        """Return a checked copy; `network__activation=…` reaches into a nested value.

        Paths go to any depth, by index or `*` for all entries: `data__components__0__weight`. A
        field that excludes others replaces them: `network__width` drops the width ratio.
        """
        tree: dict[str, Any] = {}
        for path, value in changes.items():
            *outer, last = path.split("__")
            branch = tree
            for name in outer:
                branch = branch.setdefault(name, _Branch())
                if not isinstance(branch, _Branch):
                    break
            if not isinstance(branch, dict) or last in branch:
                raise InvalidInput(f"{path.replace('__', '.')}: is replaced twice; keep one")
            branch[last] = value
        return type(self)(**_changed(self, tree, ""))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, unset fields left out; large arrays by shape and digest."""
        return plain_fields(self.model_dump())

    def identity(self) -> dict[str, Any]:
        """Return `to_dict` without where data lie: their digest says what they are."""
        fields = self.to_dict()
        return {**fields, "data": self.data.identity(fields["data"])}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical description, array contents included."""
        text = json.dumps(self.identity(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @classmethod
    def load(cls, path: str | Path) -> Problem:
        """Return the problem in a TOML file; arrays come from the `.npz` beside it."""
        return cls(**read_fields(Path(path)))

    def save(self, path: str | Path) -> None:
        """Write the problem to a TOML file, large arrays to an `.npz` of the same name."""
        write_value(self, Path(path))


def require_problem(problem: object) -> None:
    """Raise InvalidInput unless a Problem was given."""
    if not isinstance(problem, Problem):
        raise InvalidInput(
            f"problem={shown(problem)}: must be a Problem; make one, or load it with Problem.load"
        )


class _Branch(dict[str, Any]):
    """Changes inside one field, by name; any other value replaces its field."""


def _changed(held: Any, changes: dict[str, Any], path: str) -> Any:
    """Return the fields or entries of `held` with the changes in their places."""
    if isinstance(held, Value):
        dropped = {rival for name in changes for rival in held.rivals.get(name, ())}
        kept = {n: getattr(held, n) for n in type(held).model_fields if n not in dropped}
    elif isinstance(held, tuple):
        every = changes.get("*")
        kept = {str(index): entry for index, entry in enumerate(held)}
        changes = {name: value for name, value in changes.items() if name != "*"}
        if every is not None:
            both = isinstance(every, _Branch)
            changes = {
                name: _Branch(every | changes.get(name, {})) if both else changes.get(name, every)
                for name in {**kept, **changes}
            }
        outside = [name for name in changes if name not in kept]
        if outside:
            raise InvalidInput(
                f"{path}{outside[0]}: must be an index below {len(kept)} or *; correct it"
            )
    else:
        raise InvalidInput(f"{path.rstrip('.')}: has no fields to replace; check the spelling")
    for name, value in changes.items():
        inside = isinstance(value, _Branch)
        kept[name] = _changed(kept.get(name), value, f"{path}{name}.") if inside else value
    return list(kept.values()) if isinstance(held, tuple) else kept


def plain_fields(value: Any) -> Any:
    """Return plain values of a dumped description, unset fields left out, arrays by digest."""
    if isinstance(value, dict):
        return {k: plain_fields(v) for k, v in value.items() if v is not None}
    if isinstance(value, tuple | list):
        return [plain_fields(v) for v in value]
    if isinstance(value, Array):
        return {"shape": list(value.shape), "digest": value.digest}
    return value
