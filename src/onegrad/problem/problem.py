"""The problem: one frozen value that holds everything that determines a trial."""

from __future__ import annotations

from functools import cached_property
from math import log
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from onegrad.calculus.losses import get_loss
from onegrad.data.index_teacher import SingleIndex
from onegrad.data.label_teacher import ClassLabels
from onegrad.data.mixture_source import MixtureSource
from onegrad.data.multi_index import MultiIndex as _MultiIndex  # noqa: F401 (registers)
from onegrad.data.rows.empirical import EmpiricalData as _EmpiricalData  # noqa: F401 (registers)
from onegrad.data.sign_teacher import SignIndex as _SignIndex  # noqa: F401 (registers)
from onegrad.data.source import SOURCES, Source
from onegrad.data.teacher import TEACHERS, TeacherDescription
from onegrad.describe.checks import LARGEST_COUNT, shown
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.fields import Count, control
from onegrad.describe.value import Document
from onegrad.problem.architecture import Network
from onegrad.problem.protocol import (
    DEFAULT_RIDGE,
    LARGEST_BATCH,
    Readout,
    Training,
    with_samples,
)
from onegrad.problem.scaling import Scaling

TEST_FACTOR = 5  # test points per training sample when not said, as in the published code


class Problem(Document):
    """Data, teacher, network, training and readout: everything that determines a trial.

    `redraw`: what changes from trial to trial, "all" or "network" (F, w and model noise only, as
    in most published panels). `test`: "exact" integrates the test error over the mixture,
    "sampled" uses `test_samples` points. `precision`: "float64", or "mixed" for products in
    single precision and readouts solved to double.

    What is not said is as published. On real data (`EmpiricalData`): their dimension, class labels,
    sampled test errors, θ = n and η = 1. With a teacher of several directions (`MultiIndex`):
    isotropic inputs and η = 2k.
    """

    dimension: Count = Field(
        default=1000,
        description="Input dimension n.",
        json_schema_extra=control(
            label="Dimension",
            symbol="n",
            sentence="How many numbers an input has.",
            low=100,
            high=10_000,
            main=True,
        ),
    )
    test_samples: Count | Literal["rest"] | None = Field(
        default=None,
        description="Test points when sampled; five per sample of the readout; rest: of the rows.",
        json_schema_extra=control(label="Test points", low=100, high=100_000),
    )
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
        default=MixtureSource(),
        description="The data source.",
        json_schema_extra=control(label="Kind of data"),
    )
    teacher: Annotated[TeacherDescription, TEACHERS] = Field(
        default=SingleIndex(),
        description="How labels follow from inputs.",
        json_schema_extra=control(label="Labels", sentence="How the label of an input is made."),
    )
    network: Network = Field(default=Network(), description="The two-layer network.")
    training: Training = Field(default=Training(), description="The steps of the first layer.")
    readout: Readout = Field(default=Readout(), description="The second layer after the steps.")

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, fields: Any) -> Any:
        """Write out what follows from teacher and data where nothing is said."""
        if not isinstance(fields, dict):
            return fields
        fields = with_samples(fields)
        kind = TEACHERS.kind(fields.get("teacher", {}))
        known = kind in TEACHERS.registry
        if known:
            fields = TEACHERS.registry[kind].complete(fields)
        if not isinstance(fields.get("data", {}), Source | dict):
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
        self._check_sizes()
        self._check_width()
        self._check_step_size()
        self.teacher.check(self.data, self.dimension)
        self._check_outputs()
        self._check_loss()
        return self

    def _check_width(self) -> None:
        """Raise ValueError where the width ratio gives no neuron, or more than can be counted."""
        ratio = self.network.width_ratio
        if self.network.width is not None or ratio is None:
            return
        if ratio * self.samples > LARGEST_COUNT:
            raise ValueError(
                f"network.width_ratio={ratio:g}: gives more than {LARGEST_COUNT:.0e} neurons with "
                f"{self.samples} samples; lower it"
            )
        if self.width < 1:
            raise ValueError(
                f"network.width_ratio={ratio}: gives no neuron with {self.samples} samples; raise "
                "it"
            )

    def _check_sizes(self) -> None:
        """Raise ValueError where a step's batch is too large, or the data have too few rows."""
        exponent = self.training.samples_exponent
        if exponent is not None:
            size = exponent * log(self.dimension)  # its logarithm: n^κ may overflow
            if size > log(LARGEST_BATCH):
                raise ValueError(
                    f"training.samples_exponent={exponent}: gives 10^{size / log(10):.4g} samples, "
                    f"at most {LARGEST_BATCH:.0e} are allowed; lower it"
                )
        sizes = {"training.samples": self.samples_per_step}
        if self.distinct_batches > 1:
            sizes = {f"{self.distinct_batches} × training.samples": sum(self.batch_sizes)}
        if self.readout.batch == "fresh":
            sizes["readout.samples"] = self.samples
        self.data.check_sizes({**sizes, "test_samples": self.samples_in_test})

    def _check_loss(self) -> None:
        """Raise ValueError where a loss for signs meets labels that are none."""
        loss = get_loss(self.readout.loss)
        if self.classes:
            return  # every output has targets of its own
        altered = self.noisy or self.training.subtract != "none"
        if loss.needs_signs and (altered or not self.binary):
            raise ValueError(
                f"readout.loss={loss.name!r}: needs labels of +1 and -1 without noise or "
                "subtraction; use --task classification, sign or logistic, or another loss"
            )

    def _check_outputs(self) -> None:
        """Raise ValueError where outputs per class meet labels that are none."""
        if self.readout.outputs == "one":
            return
        if not isinstance(self.teacher, ClassLabels) or len(self.classes) < 2:
            raise ValueError(
                "readout.outputs='classes': needs the labels of at least two classes; use --task "
                "classification, or outputs='one'"
            )
        if self.training.subtract != "none":
            raise ValueError(
                f"training.subtract={self.training.subtract!r}: classes have no part to take off "
                "with readout.outputs='classes'; use 'none'"
            )

    def _check_step_size(self) -> None:
        """Raise ValueError where the spread is missing or exponents do not fit the steps."""
        scaling, steps = self.scaling, self.training.steps
        if scaling.rate_field is not None and scaling.spread is None and self.data.has_spikes:
            raise ValueError(
                f"scaling.spread: must be given with {scaling.rate_field}; add it, or use strength "
                "and weighting"
            )
        exponents = scaling.change_exponent
        if isinstance(exponents, tuple) and len(exponents) != steps:
            raise ValueError(
                f"scaling.change_exponent={list(exponents)}: must be one number or one per step, "
                f"training.steps is {steps}; change one of them"
            )

    @property
    def width(self) -> int:
        """k, the number of neurons."""
        if self.network.width is not None:
            return self.network.width
        return round((self.network.width_ratio or 0.0) * self.samples)

    @property
    def samples(self) -> int:
        """m, the samples of the readout."""
        return self.samples_per_step if self.readout.samples is None else self.readout.samples

    @property
    def samples_per_step(self) -> int:
        """N, the samples of every step (as many as for the readout unless said)."""
        if self.training.samples is not None:
            return self.training.samples
        if self.training.samples_exponent is not None:
            return max(1, round(float(self.dimension) ** self.training.samples_exponent))
        assert self.readout.samples is not None  # one of them is always said
        return self.readout.samples

    @property
    def distinct_batches(self) -> int:
        """How many batches the steps draw: one each, or one for all."""
        return 1 if self.training.batches == "reused" else self.training.steps

    @property
    def batch_sizes(self) -> tuple[int, ...]:
        """The samples of each distinct batch of the steps."""
        return (self.samples_per_step,) * self.distinct_batches

    @property
    def recorded_steps(self) -> tuple[int, ...]:
        """The steps after which errors are measured: all from 0, or the one where there is one."""
        steps = self.training.steps
        return (1,) if steps == 1 else tuple(range(steps + 1))

    @property
    def has_theory(self) -> bool:
        """Whether the readout's samples are independent of the first layer, as theory asks."""
        return self.readout.batch == "fresh"

    @property
    def samples_in_test(self) -> int:
        """Test points when sampled: five per training sample unless said; or what rows remain."""
        if self.test_samples == "rest":
            fresh = (self.samples,) if self.readout.batch == "fresh" else ()
            return self.data.remaining((*self.batch_sizes, *fresh))
        return TEST_FACTOR * self.samples if self.test_samples is None else self.test_samples

    @property
    def ridges(self) -> tuple[float, ...]:
        """The penalties λ as a tuple."""
        if self.readout.penalty is not None:
            return (self.readout.penalty / self.samples,)
        ridge = self.readout.ridge
        return ridge if isinstance(ridge, tuple) else (ridge or DEFAULT_RIDGE,)

    @property
    def several_ridges(self) -> bool:
        """Whether penalties were given as a list, so that results have an axis of them."""
        return isinstance(self.readout.ridge, tuple)

    @property
    def binary(self) -> bool:
        """Whether labels are ±1, so that a misclassification rate is defined."""
        return self.teacher.is_binary(self.data)

    @property
    def classes(self) -> tuple[float, ...]:
        """The distinct labels in order where the readout has an output for each, else none."""
        if self.readout.outputs == "one":
            return ()
        return tuple(sorted({label for label in self.data.part_labels if label is not None}))

    @property
    def noisy(self) -> bool:
        """Whether labels have noise."""
        noise: float = getattr(self.teacher, "noise", 0.0)
        return noise > 0

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
