"""The problem of giant steps: one frozen value that holds everything that determines a run."""

from __future__ import annotations

from math import log, sqrt
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, Strict, model_validator

from onegrad.data.multi_index import MultiIndex
from onegrad.describe.fields import NUMPY, Count, NonNegative, Positive
from onegrad.describe.value import Document, Value
from onegrad.problem.architecture import ActivationName

LARGEST_BATCH = 10**9
SIZE_RULES = ("learning_rate", "per_width", "per_root", "exponent")

# d^a beyond these is nothing that a step of a network could be.
Exponent = Annotated[float, Strict(), Field(ge=-2, le=2, allow_inf_nan=False), NUMPY]


class StepSize(Value):
    """The step size η: itself or by one of the published scalings, exactly one of them.

    `per_width` c: η = c·p; `per_root` c: η = c√(Np), N the batch (both Dandi et al.); `exponent` a:
    the change ηG of a step has spectral norm d^a (Moniri et al.). Without any, per_width = 2.
    """

    rivals: ClassVar[dict[str, tuple[str, ...]]] = {
        name: tuple(other for other in SIZE_RULES if other != name) for name in SIZE_RULES
    }

    learning_rate: NonNegative | None = Field(default=None, description="η itself.")
    per_width: Positive | None = Field(
        default=None, description="η = value·p; 2 where no rule is given."
    )
    per_root: Positive | None = Field(default=None, description="η = value·√(Np), N the batch.")
    exponent: Exponent | None = Field(
        default=None, description="a: a step's change ηG has spectral norm d^a."
    )

    @model_validator(mode="before")
    @classmethod
    def _default(cls, fields: Any) -> Any:
        """Write the default out, so that a saved problem says what it used."""
        if isinstance(fields, dict) and all(fields.get(name) is None for name in SIZE_RULES):
            return {**fields, "per_width": 2.0}
        return fields

    @model_validator(mode="after")
    def _one_rule(self) -> StepSize:
        given = [name for name in SIZE_RULES if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)}: must not be given together; keep one")
        return self


class StepsProblem(Document):
    """Isotropic inputs, a teacher of several directions, a network and T steps on fresh batches.

    Batch N: `batch`, or d^batch_exponent. `subtract`: the part of the labels that is estimated on
    the training batch, taken off before step and readout and added back to predictions: "none",
    the "mean", or mean and "linear" part. `readout`: ridge on the "same" batch as the step or on
    `samples` "fresh" points; `penalty` Λ of Σ(y − ŷ)² + Λ‖w‖², or `ridge` λ = Λ/N as in `Problem`.
    """

    rivals: ClassVar[dict[str, tuple[str, ...]]] = {
        "batch": ("batch_exponent",),
        "batch_exponent": ("batch",),
        "ridge": ("penalty",),
        "penalty": ("ridge",),
    }

    dimension: Count = Field(default=1024, description="Input dimension d.")
    width: Count = Field(default=256, description="Neurons p.")
    batch: Count | None = Field(default=None, description="Samples N of every step.")
    batch_exponent: Positive | None = Field(default=None, description="κ: N = d^κ; 1.")
    steps: Count = Field(default=1, description="Gradient steps T, each on a fresh batch.")
    activation: ActivationName = Field(
        default="relu", description="Activation σ: a name or a formula such as max(u, 0.1*u)."
    )
    second_layer: Literal["gaussian", "sign", "constant"] = Field(
        default="gaussian", description="w_i: N(0, 1/p), ±1/√p, or 1/√p."
    )
    subtract: Literal["none", "mean", "linear"] = Field(
        default="none", description="Part of the labels that is estimated and taken off first."
    )
    readout: Literal["same", "fresh"] = Field(
        default="same", description="The readout's batch: the step's, or fresh points."
    )
    samples: Count | None = Field(
        default=None, description="Samples of a fresh readout; as many as a batch."
    )
    ridge: Positive | None = Field(
        default=None, description="Penalty λ of the readout per sample, in place of Λ."
    )
    penalty: Positive | None = Field(default=None, description="Penalty Λ of Σ(y − ŷ)² + Λ‖w‖²; 1.")
    test_samples: Count = Field(default=4096, description="Test points.")
    step_size: StepSize = Field(default=StepSize(), description="The step size η.")
    teacher: MultiIndex = Field(
        default=MultiIndex(), description="The teacher of several directions."
    )

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, fields: Any) -> Any:
        """Write the defaults out: a batch of d samples, penalty 1."""
        if not isinstance(fields, dict):
            return fields
        out = dict(fields)
        if all(out.get(name) is None for name in ("batch", "batch_exponent")):
            out["batch_exponent"] = 1.0
        if all(out.get(name) is None for name in ("ridge", "penalty")):
            out["penalty"] = 1.0
        return out

    @model_validator(mode="after")
    def _consistent(self) -> StepsProblem:
        for name, rival in (("batch", "batch_exponent"), ("ridge", "penalty")):
            if getattr(self, name) is not None and getattr(self, rival) is not None:
                raise ValueError(
                    f"{name}={getattr(self, name)} and {rival}={getattr(self, rival)}: must not be "
                    "given together; keep one"
                )
        self.teacher.check_dimension(self.dimension)
        if self.batch_exponent is not None:
            size = self.batch_exponent * log(self.dimension)  # its logarithm: d^κ may overflow
            if size > log(LARGEST_BATCH):
                raise ValueError(
                    f"batch_exponent={self.batch_exponent}: gives 10^{size / log(10):.4g} samples, "
                    f"at most {LARGEST_BATCH:.0e} are allowed; lower it"
                )
        if self.samples is not None and self.readout == "same":
            raise ValueError(
                f'samples={self.samples}: belongs to readout="fresh"; remove it or change readout'
            )
        return self

    @property
    def batch_size(self) -> int:
        """N, the samples of every step."""
        if self.batch is not None:
            return self.batch
        return max(1, round(float(self.dimension) ** (self.batch_exponent or 1.0)))

    @property
    def readout_size(self) -> int:
        """The samples of the readout."""
        return self.batch_size if self.samples is None else self.samples

    @property
    def readout_ridge(self) -> float:
        """λ of (1/2N) Σ(y − ŷ)² + (λ/2)‖w‖²."""
        return self.ridge if self.ridge is not None else (self.penalty or 1.0) / self.readout_size

    def learning_rate(self, norm: float) -> float:
        """Return η; `norm` is ‖G‖, which only the exponent's rule looks at."""
        rule = self.step_size
        if rule.learning_rate is not None:
            return rule.learning_rate
        if rule.per_width is not None:
            return rule.per_width * self.width
        if rule.per_root is not None:
            return rule.per_root * sqrt(self.batch_size * self.width)
        return float(self.dimension) ** (rule.exponent or 0.0) / norm if norm > 0 else 0.0
