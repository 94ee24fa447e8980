"""The problem of giant steps: one frozen value that holds everything that determines a run."""

from __future__ import annotations

from math import log, sqrt
from typing import Any, ClassVar, Literal

from pydantic import model_validator

from onegrad.describe.fields import Count, NonNegative, Positive, Real
from onegrad.describe.value import Document, Value
from onegrad.problem.architecture import ActivationName
from onegrad.steps.multi_index import MultiIndex

LARGEST_BATCH = 10**9
RULES = ("learning_rate", "per_width", "per_root", "exponent")


class StepSize(Value):
    """The step size η: itself or by one of the published scalings, exactly one of them.

    `per_width` c: η = c·p; `per_root` c: η = c√(Np), N the batch (both Dandi et al.); `exponent` a:
    the change ηG of a step has spectral norm d^a (Moniri et al.). Without any, per_width = 2.
    """

    rivals: ClassVar[dict[str, tuple[str, ...]]] = {
        name: tuple(other for other in RULES if other != name) for name in RULES
    }

    learning_rate: NonNegative | None = None
    per_width: Positive | None = None
    per_root: Positive | None = None
    exponent: Real | None = None

    @model_validator(mode="before")
    @classmethod
    def _default(cls, fields: Any) -> Any:
        """Write the default out, so that a saved problem says what it used."""
        if isinstance(fields, dict) and all(fields.get(name) is None for name in RULES):
            return {**fields, "per_width": 2.0}
        return fields

    @model_validator(mode="after")
    def _one_rule(self) -> StepSize:
        given = [name for name in RULES if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)}: must not be given together; keep one")
        if self.exponent is not None and not -2 <= self.exponent <= 2:
            raise ValueError(f"exponent={self.exponent}: must lie in [-2, 2]; change it")
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

    dimension: Count = 1024
    width: Count = 256
    batch: Count | None = None
    batch_exponent: Positive | None = None
    steps: Count = 1
    activation: ActivationName = "relu"
    second_layer: Literal["gaussian", "sign", "constant"] = "gaussian"
    subtract: Literal["none", "mean", "linear"] = "none"
    readout: Literal["same", "fresh"] = "same"
    samples: Count | None = None
    ridge: Positive | None = None
    penalty: Positive | None = None
    test_samples: Count = 4096
    step_size: StepSize = StepSize()
    teacher: MultiIndex = MultiIndex()

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
