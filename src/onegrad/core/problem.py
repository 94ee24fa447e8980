"""The problem: one frozen value that holds everything that determines a trial."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from math import log
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import AfterValidator, Field, PlainValidator, Strict, model_validator

from onegrad.calculus import functions
from onegrad.calculus.losses import LOSSES, get_loss, loss_name
from onegrad.calculus.rules import RULES, rule_name
from onegrad.core.scaling import Scaling
from onegrad.data.empirical import EmpiricalData as _EmpiricalData  # noqa: F401 (registers)
from onegrad.data.joint_teachers import MultiIndex as _MultiIndex  # noqa: F401 (registers)
from onegrad.data.mixture_source import MixtureSource
from onegrad.data.source import SOURCES, Source
from onegrad.data.teachers import TEACHERS, ClassLabels, SingleIndex, TeacherDescription
from onegrad.data.teachers import SignIndex as _SignIndex  # noqa: F401 (registers)
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import (
    LARGEST_COUNT,
    Array,
    is_list,
    real_numbers,
    shown,
)
from onegrad.describe.value import NUMPY, Count, Document, Flag, Positive, Text, Value, control

ActivationName = Annotated[Text, AfterValidator(lambda name: functions.get_activation(name).name)]


class Network(Value):
    """A two-layer network ŷ = wᵀσ(Fx)/√k with `width` neurons, or width_ratio × samples.

    `second_layer`: w_i ~ N(0, 1/k), ±1/√k at random, or 1/√k. `normalise_rows` scales the rows
    of the initial F to norm 1; otherwise F_ij ~ N(0, 1/Tr Σ).
    """

    rivals: ClassVar[dict[str, tuple[str, ...]]] = {
        "width": ("width_ratio",),
        "width_ratio": ("width",),
    }

    width: Count | None = Field(
        default=None,
        description="Neurons k, in place of the ratio.",
        json_schema_extra=control(
            label="Neurons",
            symbol="k",
            sentence="How many neurons the network has.",
            low=50,
            high=10_000,
        ),
    )
    width_ratio: Positive | None = Field(
        default=None,
        description="Neurons per sample, k/m; 1.",
        json_schema_extra=control(
            label="Neurons per sample",
            symbol="k/m",
            sentence="How wide the network is, over the samples of its readout.",
            low=0.1,
            high=5,
            scale="log",
            main=True,
        ),
    )
    activation: ActivationName = Field(
        default="relu",
        description="Activation σ: a name or a formula such as max(u, 0.1*u).",
        json_schema_extra=control(
            label="Activation",
            symbol="σ",
            sentence="The function of a neuron: a name, or a formula such as max(u, 0.1*u).",
            names="functions",
            main=True,
        ),
    )
    second_layer: Literal["gaussian", "sign", "constant"] = Field(
        default="gaussian",
        description="w_i: N(0, 1/k), ±1/√k, or 1/√k.",
        json_schema_extra=control(
            label="Second layer", symbol="w", sentence="How the second layer starts."
        ),
    )
    normalise_rows: Flag = Field(
        default=False,
        description="Rows of the initial F have norm 1.",
        json_schema_extra=control(
            label="Rows of length 1", sentence="Every neuron starts with weights of length 1."
        ),
    )

    @model_validator(mode="before")
    @classmethod
    def _default_width(cls, fields: Any) -> Any:
        """Write the default ratio out, so that a saved problem contains it."""
        if isinstance(fields, dict) and all(
            fields.get(name) is None for name in ("width", "width_ratio")
        ):
            return {**fields, "width_ratio": 1.0}
        return fields

    @model_validator(mode="after")
    def _one_width(self) -> Network:
        if self.width is not None and self.width_ratio is not None:
            raise ValueError(
                f"width={self.width} and width_ratio={self.width_ratio}: must not be given "
                "together; remove one"
            )
        return self


LARGEST_BATCH = 10**9
DEFAULT_RIDGE, DEFAULT_SAMPLES = 1e-4, 1000

RuleName = Annotated[Text, AfterValidator(rule_name)]
LossName = Annotated[Text, AfterValidator(loss_name)]
Momentum = Annotated[float, Strict(), Field(ge=0, lt=1, allow_inf_nan=False), NUMPY]


class Training(Value):
    """T steps F ← F + ηD of the first layer, each on a batch of N samples.

    D follows from the gradient by the `rule`. `subtract` is the part of the labels that is
    estimated on a step's batch, taken off before step and readout, and added back to predictions:
    "none", the "mean", mean and "linear" part by least squares, or both by "moments": mean y and
    mean (y − ȳ)x, as Dandi et al. [5] publish it.
    """

    rivals: ClassVar[dict[str, tuple[str, ...]]] = {
        "samples": ("samples_exponent",),
        "samples_exponent": ("samples",),
    }

    steps: Count = Field(
        default=1,
        description="Steps T of the first layer.",
        json_schema_extra=control(
            label="Steps",
            symbol="T",
            sentence="How many steps the first layer takes.",
            low=1,
            high=10,
            scale="linear",
        ),
    )
    samples: Count | None = Field(
        default=None,
        description="Samples N of a step; as many as of the readout, else 1000.",
        json_schema_extra=control(
            label="Step samples",
            symbol="N",
            sentence="How many samples a step reads.",
            low=100,
            high=10_000,
        ),
    )
    samples_exponent: Positive | None = Field(
        default=None,
        description="κ: N = n^κ, in place of the number.",
        json_schema_extra=control(
            label="Step samples as a power", symbol="κ", low=0.5, high=1.5, scale="linear"
        ),
    )
    batches: Literal["fresh", "reused"] = Field(
        default="fresh",
        description="A batch of its own for every step, or one for all.",
        json_schema_extra=control(
            label="Batches", sentence="A batch of its own for every step, or one for all."
        ),
    )
    rule: RuleName = Field(
        default="gradient",
        description="Update rule: gradient, sign, polar, whitened, whitened:DAMPING or your own.",
        json_schema_extra=control(
            label="Update rule",
            sentence="What a step does with the gradient.",
            names="update rules",
        ),
    )
    momentum: Momentum = Field(
        default=0.0,
        description="μ of M ← μM + G, which the rule reads in place of G.",
        json_schema_extra=control(label="Momentum", symbol="μ", high=0.99),
    )
    subtract: Literal["none", "mean", "linear", "moments"] = Field(
        default="none",
        description="Part of the labels that is estimated and taken off first.",
        json_schema_extra=control(
            label="Taken off first",
            sentence="The part of the labels that is estimated and taken off before the step.",
        ),
    )

    @model_validator(mode="after")
    def _one_size(self) -> Training:
        if self.samples is not None and self.samples_exponent is not None:
            raise ValueError(
                f"samples={self.samples} and samples_exponent={self.samples_exponent}: must not be "
                "given together; keep one"
            )
        return self


def _ridge(value: Any) -> float | tuple[float, ...]:
    numbers = real_numbers(value)
    if not numbers or not all(np.isfinite(v) and v > 0 for v in numbers):
        raise ValueError("must be finite and greater than 0; change it")
    if len(set(numbers)) < len(numbers):
        raise ValueError("must not repeat a penalty; remove one")
    return tuple(numbers) if is_list(value) else numbers[0]


Ridge = Annotated[
    float | tuple[float, ...],
    PlainValidator(_ridge, json_schema_input_type=Positive | list[Positive]),
]


class Readout(Value):
    """The second layer on m samples: (1/m) Σℓ(y, ŷ) + (λ/2)‖w‖², ℓ = ½(y − ŷ)² for `square`.

    `batch`: "fresh" samples, the same ones after every step, or the "same" as the last step's.
    `outputs`: "one" for the label, or one for each of its "classes", trained on +1 against −1 for
    all others; the largest output names the class. Steps read the labels themselves in any case.
    """

    rivals: ClassVar[dict[str, tuple[str, ...]]] = {
        "ridge": ("penalty",),
        "penalty": ("ridge",),
    }

    samples: Count | None = Field(
        default=None,
        description="Samples m of the readout; as many as of a step, else 1000.",
        json_schema_extra=control(
            label="Samples",
            symbol="m",
            sentence="How many samples the readout is trained on.",
            low=100,
            high=10_000,
            main=True,
        ),
    )
    ridge: Ridge | None = Field(
        default=None,
        description="Penalty λ, or several; 1e-4.",
        json_schema_extra=control(
            label="Ridge",
            symbol="λ",
            sentence="How strongly large weights of the second layer are punished.",
            low=1e-6,
            high=10,
            scale="log",
            main=True,
        ),
    )
    penalty: Positive | None = Field(
        default=None,
        description="Λ of Σ(y − ŷ)² + Λ‖w‖², in place of λ = Λ/m.",
        json_schema_extra=control(label="Penalty", symbol="Λ", low=1e-4, high=1e4, scale="log"),
    )
    batch: Literal["fresh", "same"] = Field(
        default="fresh",
        description="Fresh samples, or the same as the last step's.",
        json_schema_extra=control(
            label="Readout samples",
            sentence="Whether the readout sees new samples or those of the step.",
        ),
    )
    loss: LossName = Field(
        default="square",
        description="Loss: square, logistic, squared_hinge, hinge, huber:DELTA or your own.",
        json_schema_extra=control(
            label="Loss",
            symbol="ℓ",
            sentence="What the readout minimises; logistic and hinges need labels of ±1 (Labels).",
            names="losses",
            main=True,
        ),
    )
    outputs: Literal["one", "classes"] = Field(
        default="one",
        description="One output for the label, or one for each class of labels.",
        json_schema_extra=control(
            label="Outputs", sentence="One output for the label, or one for each class."
        ),
    )

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, fields: Any) -> Any:
        """Write the default penalty out, so that a saved problem contains it."""
        if not isinstance(fields, dict):
            return fields
        if all(fields.get(name) is None for name in ("ridge", "penalty")):
            return {**fields, "ridge": DEFAULT_RIDGE}
        return fields

    @model_validator(mode="after")
    def _consistent(self) -> Readout:
        if self.ridge is not None and self.penalty is not None:
            raise ValueError(
                f"ridge={self.ridge} and penalty={self.penalty}: must not be given together; keep "
                "one"
            )
        if self.batch == "same" and self.samples is not None:
            raise ValueError(
                f'samples={self.samples}: batch="same" has the samples of a step; remove it, or '
                "give training.samples"
            )
        return self


def with_samples(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a problem's fields with the default number of samples if no number is given."""
    parts = {name: fields.get(name, {}) for name in ("training", "readout")}
    plain = {
        name: part.model_dump() if isinstance(part, Value) else part for name, part in parts.items()
    }
    if not all(isinstance(part, Mapping) for part in plain.values()):
        return dict(fields)
    given = (plain["training"].get(n) for n in ("samples", "samples_exponent"))
    if any(value is not None for value in (*given, plain["readout"].get("samples"))):
        return dict(fields)
    place = "training" if plain["readout"].get("batch") == "same" else "readout"
    return {**fields, place: {**plain[place], "samples": DEFAULT_SAMPLES}}


TEST_FACTOR = 5  # default number of test points per training sample, as in the published code


class Problem(Document):
    """Data, teacher, network, training and readout: everything that determines a trial.

    `redraw`: what changes from trial to trial, "all" or "network" (F, w and model noise only, as
    in most published panels). `test`: "exact" integrates the test error over the mixture,
    "sampled" uses `test_samples` points. `precision`: "float64", or "mixed" for products in
    single precision and readouts solved to double.

    Defaults are as published. On real data (`EmpiricalData`): their dimension, class labels,
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
        default="all", description="Drawn again per trial: all, or the network alone."
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
        """Write out the defaults that follow from teacher and data."""
        if not isinstance(fields, dict):
            return fields
        fields = with_samples(fields)
        kind = TEACHERS.kind(fields.get("teacher", {}))
        known = kind in TEACHERS
        if known:
            fields = TEACHERS[kind].complete(fields)
        if not isinstance(fields.get("data", {}), Source | dict):
            return fields
        try:
            source = SOURCES.read(fields.get("data", {}))
        except InvalidInput as error:
            raise InvalidInput(f"data.{error}") from None
        fields = source.complete({**fields, "data": source})
        kind = TEACHERS.kind(fields.get("teacher", {}))
        if kind in TEACHERS and TEACHERS[kind].reads_labels:
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
        """Raise ValueError if the width ratio gives no neuron, or more than can be counted."""
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
        """Raise ValueError if a step's batch is too large, or the data have too few rows."""
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
        """Raise ValueError if the loss needs ±1 labels and the labels are not ±1."""
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
        """Raise ValueError if outputs per class have no labels of classes to fit."""
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
        """Raise ValueError if the spread is missing or exponents do not fit the steps."""
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

    @cached_property
    def width(self) -> int:
        """k, the number of neurons."""
        if self.network.width is not None:
            return self.network.width
        return round((self.network.width_ratio or 0.0) * self.samples)

    @cached_property
    def samples(self) -> int:
        """m, the samples of the readout."""
        return self.samples_per_step if self.readout.samples is None else self.readout.samples

    @cached_property
    def samples_per_step(self) -> int:
        """N, the samples of every step (by default as many as for the readout)."""
        if self.training.samples is not None:
            return self.training.samples
        if self.training.samples_exponent is not None:
            return max(1, round(float(self.dimension) ** self.training.samples_exponent))
        assert self.readout.samples is not None  # one of them is always given
        return self.readout.samples

    @property
    def distinct_batches(self) -> int:
        """How many batches the steps draw: one each, or one for all."""
        return 1 if self.training.batches == "reused" else self.training.steps

    @property
    def batch_sizes(self) -> tuple[int, ...]:
        """The samples of each distinct batch of the steps."""
        return (self.samples_per_step,) * self.distinct_batches

    @cached_property
    def recorded_steps(self) -> tuple[int, ...]:
        """The steps after which errors are measured: all from 0, or the only one."""
        steps = self.training.steps
        return (1,) if steps == 1 else tuple(range(steps + 1))

    @property
    def has_theory(self) -> bool:
        """Whether the readout's samples are independent of the first layer, as theory asks."""
        return self.readout.batch == "fresh"

    @cached_property
    def samples_in_test(self) -> int:
        """Test points if sampled: by default five per training sample; or the rows that remain."""
        if self.test_samples == "rest":
            fresh = (self.samples,) if self.readout.batch == "fresh" else ()
            return self.data.remaining((*self.batch_sizes, *fresh))
        return TEST_FACTOR * self.samples if self.test_samples is None else self.test_samples

    @cached_property
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

    @cached_property
    def binary(self) -> bool:
        """Whether labels are ±1, so that a misclassification rate is defined."""
        return self.teacher.is_binary(self.data)

    @cached_property
    def classes(self) -> tuple[float, ...]:
        """The distinct labels in order where the readout has an output for each, else none."""
        if self.readout.outputs == "one":
            return ()
        return tuple(sorted({label for label in self.data.part_labels if label is not None}))

    @cached_property
    def noisy(self) -> bool:
        """Whether labels have noise."""
        return self.teacher.label_noise > 0

    @cached_property
    def for_training(self) -> Problem:
        """The problem as training sees it: how theory fits a mixture to real data left out."""
        source = self.data.for_training()
        return self if source == self.data else self.replace(data=source)

    def identity(self) -> dict[str, Any]:
        """Return `to_dict` without the paths of data, which their digest identifies."""
        fields = self.to_dict()
        return {**fields, "data": self.data.identity(fields["data"])}


def require_problem(problem: object) -> None:
    """Raise InvalidInput unless a Problem was given."""
    if not isinstance(problem, Problem):
        raise InvalidInput(
            f"problem={shown(problem)}: must be a Problem; make one, or load it with Problem.load"
        )


def registered_marks(problem: Problem) -> dict[str, str]:
    """Return digests of what users registered and the problem uses, by name."""
    names = {problem.network.activation, *problem.teacher.functions}
    marks = {name: functions.fingerprint(name) for name in sorted(names)}
    marks |= {f"data {problem.data.kind}": SOURCES.mark(problem.data.kind)}
    marks |= {f"teacher {problem.teacher.kind}": TEACHERS.mark(problem.teacher.kind)}
    marks |= {f"rule {problem.training.rule}": RULES.mark(problem.training.rule)}
    marks |= {f"loss {problem.readout.loss}": LOSSES.mark(problem.readout.loss)}
    return {name: mark for name, mark in marks.items() if mark is not None}


COUNTS = ("readout.samples", "training.samples", "network.width", "test_samples")
OF_ONE_DIMENSION = ("trace", "norm")  # of scaling


def resized(problem: Problem, dimension: int) -> Problem:
    """Return the problem in this dimension n, with samples and width in proportion.

    Counts of samples and neurons are multiplied by n over the present dimension and rounded.
    Ratios, exponents and rates per something follow by themselves; a rate, spread or penalty that
    is a plain number stays. What belongs to one dimension is refused: arrays, real data, and given
    Tr Σ or ‖Σ‖.
    """
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
