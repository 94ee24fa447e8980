"""The problem: one frozen value that holds everything that determines a trial."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, PlainValidator, model_validator

from onegrad.data.index_teacher import SingleIndex
from onegrad.data.label_teacher import ClassLabels as _ClassLabels  # noqa: F401 (registers)
from onegrad.data.mixture_source import MixtureSource
from onegrad.data.multi_index import MultiIndex as _MultiIndex  # noqa: F401 (registers)
from onegrad.data.rows.empirical import EmpiricalData as _EmpiricalData  # noqa: F401 (registers)
from onegrad.data.source import SOURCES, Source
from onegrad.data.teacher import TEACHERS, TeacherDescription
from onegrad.describe.checks import real_numbers, shown
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.fields import Count, Positive
from onegrad.describe.value import Document
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


Ridge = Annotated[
    float | tuple[float, ...],
    PlainValidator(_ridge, json_schema_input_type=Positive | list[Positive]),
]


class Problem(Document):
    """Data source, teacher, network, scalings and sizes: everything that determines a trial.

    `redraw`: what changes from trial to trial, "all" or "network" (F, w and model noise only, as
    in most published panels). `test`: "exact" integrates the test error over the mixture,
    "sampled" uses `test_samples` points. `precision`: "float64", or "mixed" for products in
    single precision and readouts solved to double.

    On real data (`EmpiricalData`) what is not said is as published: their dimension, class labels,
    sampled test errors, θ = n and η = 1.
    """

    dimension: Count = Field(default=1000, description="Input dimension n.")
    samples: Count = Field(default=1000, description="Samples m of the readout.")
    step_samples: Count | None = Field(
        default=None, description="Samples m̃ of the gradient step; as many as of the readout."
    )
    test_samples: Count | None = Field(
        default=None, description="Test points when sampled; five per sample of the readout."
    )
    ridge: Ridge = Field(default=1e-4, description="Penalty λ of the readout, or several.")
    redraw: Literal["all", "network"] = Field(
        default="all", description="Drawn anew per trial: all, or the network alone."
    )
    test: Literal["exact", "sampled"] = Field(
        default="exact",
        description="Test error: integrated over the mixture, or over sampled points.",
    )
    precision: Literal["float64", "mixed"] = Field(
        default="float64",
        description="mixed: products in single precision, readouts solved to double.",
    )
    scaling: Scaling = Field(default=Scaling(), description="How step size and data spread scale.")
    data: Annotated[Source, SOURCES] = Field(
        default=MixtureSource(), description="The data source."
    )
    teacher: Annotated[TeacherDescription, TEACHERS] = Field(
        default=SingleIndex(), description="How labels follow from inputs."
    )
    network: Network = Field(default=Network(), description="The two-layer network.")

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, fields: Any) -> Any:
        """Write out what follows from the data where nothing is said."""
        if not isinstance(fields, dict) or not isinstance(fields.get("data", {}), Source | dict):
            return fields
        try:
            source = SOURCES.read(fields.get("data", {}))
        except InvalidInput as error:
            raise InvalidInput(f"data.{error}") from None
        fields = source.complete({**fields, "data": source})
        kind = TEACHERS.kind(fields.get("teacher", {}))
        if kind in TEACHERS.registry and TEACHERS.registry[kind].reads_labels:
            fields["data"] = source.with_labels()
        return fields

    @model_validator(mode="after")
    def _consistent(self) -> Problem:
        self.data.check_dimension(self.dimension)
        if self.test == "exact" and not self.data.exact_moments:
            raise ValueError(
                f'test="exact": a source of kind {self.data.kind!r} has no known moments; '
                'use test="sampled"'
            )
        self.data.check_sizes(
            {
                "step_samples": self.samples_per_step,
                "samples": self.samples,
                "test_samples": self.samples_in_test,
            }
        )
        self.teacher.check(self.data, self.dimension)
        if self.width < 1:
            raise ValueError(
                f"network.width_ratio={self.network.width_ratio}: gives no neuron with "
                f"{self.samples} samples; raise it"
            )
        return self

    @property
    def width(self) -> int:
        """k, the number of neurons."""
        if self.network.width is not None:
            return self.network.width
        return round((self.network.width_ratio or 0.0) * self.samples)

    @property
    def samples_per_step(self) -> int:
        """m̃, the samples of the gradient step (as many as for the readout unless said)."""
        return self.samples if self.step_samples is None else self.step_samples

    @property
    def samples_in_test(self) -> int:
        """Test points when sampled: five per training sample unless said."""
        return TEST_FACTOR * self.samples if self.test_samples is None else self.test_samples

    @property
    def ridges(self) -> tuple[float, ...]:
        """The penalties λ as a tuple."""
        return self.ridge if isinstance(self.ridge, tuple) else (self.ridge,)

    @property
    def binary(self) -> bool:
        """Whether labels are ±1, so that a misclassification rate is defined."""
        return self.teacher.is_binary(self.data)

    @cached_property
    def for_training(self) -> Problem:
        """The problem as training sees it: how theory fits a mixture to real data left out."""
        source = self.data.for_training()
        return self if source == self.data else self.replace(data=source)

    def identity(self) -> dict[str, Any]:
        """Return `to_dict` without where data lie: their digest says what they are."""
        fields = self.to_dict()
        return {**fields, "data": self.data.identity(fields["data"])}


def require_problem(problem: object) -> None:
    """Raise InvalidInput unless a Problem was given."""
    if not isinstance(problem, Problem):
        raise InvalidInput(
            f"problem={shown(problem)}: must be a Problem; make one, or load it with Problem.load"
        )
