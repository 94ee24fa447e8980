"""The scalings of step size and data spread: the only place with n^{βα} and n^{β(1−α)}."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt
from typing import Annotated, Any, ClassVar

from pydantic import Field, PlainValidator, Strict, model_validator

from onegrad.calculus.expectations import DEGREE_CAP, LARGEST_DEGREE, theorem_degree
from onegrad.data.source import Population
from onegrad.describe.numbers import is_list, real_numbers
from onegrad.describe.value import NUMPY, NonNegative, Positive, Unit, Value, control

DEFAULT_STRENGTH, DEFAULT_WEIGHTING = 0.74, 0.5
Degree = Annotated[int, Strict(), Field(ge=1, le=LARGEST_DEGREE), NUMPY]


RATES = ("learning_rate", "per_width", "per_root", "change_exponent")
EXPONENTS = ("strength", "weighting")
LARGEST_EXPONENT = 2.0  # n^a beyond it is nothing that a step of a network could be


def _change_exponent(value: Any) -> float | tuple[float, ...]:
    numbers = real_numbers(value)
    if not numbers or not all(abs(v) <= LARGEST_EXPONENT for v in numbers):
        raise ValueError(
            f"must lie in [-{LARGEST_EXPONENT:g}, {LARGEST_EXPONENT:g}], one number or one per "
            "step; change it"
        )
    return tuple(numbers) if is_list(value) else numbers[0]


ChangeExponent = Annotated[
    float | tuple[float, ...],
    PlainValidator(_change_exponent, json_schema_input_type=float | list[float]),
]


class Scaling(Value):
    """Step size η and data spread θ: by strength β and weighting α, or each by itself.

    θ = n^{β(1−α)} and η = n^{βα} [1]; or `spread` θ and one of `learning_rate` η, `per_width` c:
    η = ck, `per_root` c: η = c√(Nk), N the samples of a step (both [5]), and
    `change_exponent` a: the change ηD of a step has spectral norm n^a (Moniri et al. [4]).
    `trace`, `norm` and `bulk_deviation` override Tr Σ, ‖Σ‖ and b = √(n s²/Tr Σ); `degree_cap`
    bounds the default Hermite degree.
    """

    rivals: ClassVar[dict[str, tuple[str, ...]]] = {
        **dict.fromkeys(EXPONENTS, (*RATES, "spread")),
        **{name: (*EXPONENTS, *(r for r in RATES if r != name)) for name in RATES},
        "spread": EXPONENTS,
    }

    strength: Unit | None = Field(
        default=None,
        description="β: η‖Σ‖ ≍ n^β; 0.74.",
        json_schema_extra=control(
            label="Strength",
            symbol="β",
            sentence="How strong data spread and step are together: η‖Σ‖ grows like n^β.",
            main=True,
        ),
    )
    weighting: Unit | None = Field(
        default=None,
        description="α: η = n^{βα}, θ = n^{β(1−α)}; 0.5.",
        json_schema_extra=control(
            label="Weighting",
            symbol="α",
            sentence="How the strength is split: 0 all into data spread, 1 all into learning rate.",
            main=True,
        ),
    )
    learning_rate: NonNegative | None = Field(
        default=None,
        description="η itself, with the spread.",
        json_schema_extra=control(
            label="Learning rate",
            symbol="η",
            sentence="How far the step goes along the gradient.",
            low=0.1,
            high=1000,
            scale="log",
            main=True,
        ),
    )
    per_width: Positive | None = Field(
        default=None,
        description="η = value·k, k the neurons; with the spread.",
        json_schema_extra=control(
            label="Learning rate per neuron", symbol="η/k", low=0.001, high=10, scale="log"
        ),
    )
    per_root: Positive | None = Field(
        default=None,
        description="η = value·√(Nk), N the samples of a step; with the spread.",
        json_schema_extra=control(
            label="Learning rate per √(Nk)", symbol="η/√(Nk)", low=0.001, high=10, scale="log"
        ),
    )
    change_exponent: ChangeExponent | None = Field(
        default=None,
        description="a: a step's change has spectral norm n^a; one for all steps, or one each.",
        json_schema_extra=control(label="Size of the change", symbol="a", low=-1, high=1),
    )
    spread: NonNegative | None = Field(
        default=None,
        description="θ itself, with the step size; 1 where the data have no spikes.",
        json_schema_extra=control(
            label="Data spread",
            symbol="θ",
            sentence="How far the data stretch along their strong directions.",
            low=0.1,
            high=1000,
            scale="log",
        ),
    )
    degree_cap: Degree = Field(
        default=DEGREE_CAP,
        description="Largest default Hermite degree.",
        json_schema_extra=control(hidden=True),
    )
    trace: Positive | None = Field(
        default=None,
        description="Tr Σ; that of the data when left out.",
        json_schema_extra=control(hidden=True),
    )
    norm: Positive | None = Field(
        default=None,
        description="‖Σ‖; that of the data when left out.",
        json_schema_extra=control(hidden=True),
    )
    bulk_deviation: Positive | None = Field(
        default=None,
        description="b, the deviation of f_iᵀx off the spikes; √(n s²/Tr Σ).",
        json_schema_extra=control(hidden=True),
    )

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, fields: Any) -> Any:
        """Write the default exponents out, so that a saved problem contains them."""
        if isinstance(fields, dict) and not any(
            fields.get(name) is not None for name in (*RATES, "spread")
        ):
            given = {name: value for name, value in fields.items() if value is not None}
            return {"strength": DEFAULT_STRENGTH, "weighting": DEFAULT_WEIGHTING, **given}
        return fields

    @model_validator(mode="after")
    def _one_way(self) -> Scaling:
        names = (*EXPONENTS, *RATES, "spread")
        given = [name for name in names if getattr(self, name) is not None]
        rates = [name for name in given if name in RATES]
        if any(name in EXPONENTS for name in given) and (rates or "spread" in given):
            raise ValueError(
                f"{' and '.join(given)}: must not be given together; "
                "keep strength and weighting, or the step size and spread"
            )
        if len(rates) > 1:
            raise ValueError(f"{' and '.join(rates)}: must not be given together; keep one")
        if not rates and "spread" in given:
            raise ValueError(
                "learning_rate: must be given with spread; add it, or use strength and weighting"
            )
        return self

    @property
    def rate_field(self) -> str | None:
        """Which field gives the step size where strength and weighting do not."""
        return next((name for name in RATES if getattr(self, name) is not None), None)

    def spread_at(self, dimension: int) -> float:
        """Return θ; 1 where it is not given, because the data have no spikes."""
        if self.strength is None:
            return 1.0 if self.spread is None else self.spread
        return float(dimension) ** (self.strength * (1 - (self.weighting or 0.0)))

    def learning_rate_at(self, *, dimension: int, width: int, samples: int) -> float | None:
        """Return η; None where it follows from the norm of each step's change."""
        if self.learning_rate is not None:
            return self.learning_rate
        if self.per_width is not None:
            return self.per_width * width
        if self.per_root is not None:
            return self.per_root * sqrt(samples * width)
        if self.change_exponent is not None:
            return None
        return float(dimension) ** ((self.strength or 0.0) * (self.weighting or 0.0))

    def exponent_of(self, step: int) -> float:
        """Return a of step 1, 2, …, whose change has spectral norm n^a."""
        if isinstance(self.change_exponent, tuple):
            return self.change_exponent[step - 1]
        return self.change_exponent or 0.0


@dataclass(frozen=True)
class Scales:
    """Every scale of one instance: η, θ, Tr Σ, ‖Σ‖, b, and β with the degree that follows.

    `learning_rate` is None where each step's own follows from the norm of its change.
    """

    learning_rate: float | None
    spread: float
    trace: float
    norm: float
    bulk_deviation: float
    strength: float
    degree: int


def resolve_scales(
    scaling: Scaling,
    population: Population,
    *,
    normalised_rows: bool,
    width: int,
    samples: int,
) -> Scales:
    """Return the scales of a drawn population; `samples` are those of a step.

    b is the deviation of f_iᵀx off the spikes: √(n s²/Tr Σ), or s when rows of F have norm 1.
    When β is not given, it is log(η‖Σ‖)/log n; a change of norm n^a has η ≍ n^{a+½}, as
    ‖G‖ ≍ n^{−½} (Moniri et al. [4]).
    """
    n = population.dimension
    rate = scaling.learning_rate_at(dimension=n, width=width, samples=samples)
    trace = population.trace if scaling.trace is None else scaling.trace
    norm = population.norm if scaling.norm is None else scaling.norm
    row = 1.0 if normalised_rows else n / trace
    b = sqrt(row * population.level) if scaling.bulk_deviation is None else scaling.bulk_deviation
    if scaling.strength is not None:
        strength = scaling.strength
    else:
        size = float(n) ** (scaling.exponent_of(1) + 0.5) if rate is None else rate
        strength = log(size * norm) / log(n) if size > 0 and n > 1 else 0.0
    degree = theorem_degree(strength, cap=scaling.degree_cap)
    return Scales(rate, scaling.spread_at(n), trace, norm, b, strength, degree)
