"""The scalings of step size and data spread: the only place where n^{βα} and n^{β(1−α)} stand."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt
from typing import Annotated, Any, ClassVar

from pydantic import Field, Strict, model_validator

from onegrad.calculus.expansion import DEGREE_CAP, LARGEST_DEGREE, theorem_degree
from onegrad.data.population import Population
from onegrad.describe.fields import NUMPY, NonNegative, Positive, Unit
from onegrad.describe.value import Value

DEFAULT_STRENGTH, DEFAULT_WEIGHTING = 0.74, 0.5
Degree = Annotated[int, Strict(), Field(ge=1, le=LARGEST_DEGREE), NUMPY]


class Scaling(Value):
    """Strength β and weighting α, or learning rate η and spread θ directly; never both.

    θ = n^{β(1−α)}, η = n^{βα}. `trace`, `norm` and `bulk_deviation` override Tr Σ, ‖Σ‖ and
    b = √(n s²/Tr Σ); `degree_cap` bounds the default Hermite degree.
    """

    rivals: ClassVar[dict[str, tuple[str, ...]]] = {
        "strength": ("learning_rate", "spread"),
        "weighting": ("learning_rate", "spread"),
        "learning_rate": ("strength", "weighting"),
        "spread": ("strength", "weighting"),
    }

    strength: Unit | None = Field(default=None, description="β: η‖Σ‖ ≍ n^β; 0.74.")
    weighting: Unit | None = Field(default=None, description="α: η = n^{βα}, θ = n^{β(1−α)}; 0.5.")
    learning_rate: NonNegative | None = Field(
        default=None, description="η itself, with the spread."
    )
    spread: NonNegative | None = Field(
        default=None, description="θ itself, with the learning rate."
    )
    degree_cap: Degree = Field(default=DEGREE_CAP, description="Largest default Hermite degree.")
    trace: Positive | None = Field(
        default=None, description="Tr Σ; that of the data when left out."
    )
    norm: Positive | None = Field(default=None, description="‖Σ‖; that of the data when left out.")
    bulk_deviation: Positive | None = Field(
        default=None, description="b, the deviation of f_iᵀx off the spikes; √(n s²/Tr Σ)."
    )

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, fields: Any) -> Any:
        """Write the default exponents out, so that a saved problem says what it used."""
        if isinstance(fields, dict) and not any(
            fields.get(name) is not None for name in ("learning_rate", "spread")
        ):
            given = {name: value for name, value in fields.items() if value is not None}
            return {"strength": DEFAULT_STRENGTH, "weighting": DEFAULT_WEIGHTING, **given}
        return fields

    @model_validator(mode="after")
    def _one_way(self) -> Scaling:
        scaled = {"strength": self.strength, "weighting": self.weighting}
        direct = {"learning_rate": self.learning_rate, "spread": self.spread}
        given = [k for k, v in (scaled | direct).items() if v is not None]
        if any(k in scaled for k in given) and any(k in direct for k in given):
            raise ValueError(
                f"{' and '.join(given)}: must not be given together; "
                "keep strength and weighting, or learning_rate and spread"
            )
        missing = [k for k, v in direct.items() if v is None]
        if len(missing) == 1:
            raise ValueError(
                f"{missing[0]}: must be given with {given[0]}; "
                "add it, or use strength and weighting"
            )
        return self

    def rate_and_spread(self, dimension: int) -> tuple[float, float]:
        """Return (η, θ)."""
        if self.learning_rate is not None and self.spread is not None:
            return self.learning_rate, self.spread
        beta, alpha = self.strength or 0.0, self.weighting or 0.0
        return float(dimension) ** (beta * alpha), float(dimension) ** (beta * (1 - alpha))


@dataclass(frozen=True)
class Scales:
    """Every scale of one instance: η, θ, Tr Σ, ‖Σ‖, b, and β with the degree that follows."""

    learning_rate: float
    spread: float
    trace: float
    norm: float
    bulk_deviation: float
    strength: float
    degree: int


def resolve_scales(scaling: Scaling, population: Population, *, normalised_rows: bool) -> Scales:
    """Return the scales of a drawn population.

    b is the deviation of f_iᵀx off the spikes: √(n s²/Tr Σ), or s when rows of F have norm 1.
    When η and θ are given, β = log(η‖Σ‖)/log n.
    """
    n = population.dimension
    rate, spread = scaling.rate_and_spread(n)
    trace = population.trace if scaling.trace is None else scaling.trace
    norm = population.norm if scaling.norm is None else scaling.norm
    row = 1.0 if normalised_rows else n / trace
    b = sqrt(row * population.level) if scaling.bulk_deviation is None else scaling.bulk_deviation
    if scaling.strength is not None:
        strength = scaling.strength
    else:
        strength = log(rate * norm) / log(n) if rate > 0 and n > 1 else 0.0
    degree = theorem_degree(strength, cap=scaling.degree_cap)
    return Scales(rate, spread, trace, norm, b, strength, degree)
