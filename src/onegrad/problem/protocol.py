"""How a network is trained: the steps of the first layer, and the readout after them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import AfterValidator, Field, PlainValidator, Strict, model_validator

from onegrad.calculus.losses import loss_name
from onegrad.calculus.rules import rule_name
from onegrad.describe.checks import is_list, real_numbers
from onegrad.describe.fields import NUMPY, Count, Positive, Text, control
from onegrad.describe.value import Value

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
        """Write the default penalty out, so that a saved problem says what it used."""
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
    """Return a problem's fields with the default number of samples, where none is said."""
    parts = {name: fields.get(name, {}) for name in ("training", "readout")}
    plain = {
        name: part.model_dump() if isinstance(part, Value) else part for name, part in parts.items()
    }
    if not all(isinstance(part, Mapping) for part in plain.values()):
        return dict(fields)
    said = (plain["training"].get(n) for n in ("samples", "samples_exponent"))
    if any(value is not None for value in (*said, plain["readout"].get("samples"))):
        return dict(fields)
    place = "training" if plain["readout"].get("batch") == "same" else "readout"
    return {**fields, place: {**plain[place], "samples": DEFAULT_SAMPLES}}
