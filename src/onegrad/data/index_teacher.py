"""Teachers of one direction ξ, and the one with a link: y = σ_*(ξᵀx) + δ·noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field, PlainValidator

from onegrad.calculus import functions
from onegrad.calculus.expectations import decays, hermite_coefficients, second_moment
from onegrad.calculus.function import Function
from onegrad.data.mixture import Gaussian
from onegrad.data.population import Population
from onegrad.data.source import Source
from onegrad.data.teacher import NOISE_CONTROL, TEACHERS, Teacher, TeacherDescription
from onegrad.describe.arrays import Array, Floats
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.fields import NonNegative, Positive, control


@dataclass(frozen=True)
class IndexTeacher:
    """y = link(ξᵀx) + δ·noise, with ξ the single column of `directions`."""

    directions: Floats
    link: Function
    noise: float = 0.0

    def law(self, gaussian: Gaussian) -> tuple[Floats, Floats]:
        """Return mean and deviation of ξᵀx under one component, as arrays of length 1."""
        mean = np.zeros(1) if gaussian.mean is None else self.directions.T @ gaussian.mean
        return mean, np.full(1, np.sqrt(self.projected_variance(gaussian)))

    def projected_variance(self, gaussian: Gaussian) -> float:
        """Return ξᵀΣ_cξ."""
        return float(np.sum(self.directions * gaussian.covariance_times(self.directions)))

    def labels(self, projections: Floats, component: int, rng: np.random.Generator) -> Floats:
        """Return link(projections) + δ·noise."""
        clean = self.link(projections[:, 0])
        return clean + self.noise * rng.standard_normal(len(clean)) if self.noise else clean

    def coefficients(self, gaussian: Gaussian, order: int) -> Floats:
        """Return ĝ_l = E[link(m + s z) H_l(z)]/√l!."""
        return self.coefficients_at(*self.law(gaussian), order)[:, 0]

    def second_moment(self, gaussian: Gaussian) -> float:
        """Return E[link²] + δ²."""
        return float(self.second_moment_at(*self.law(gaussian))[0])

    def linear_part(self, gaussian: Gaussian) -> tuple[float, Floats]:
        """Return ĝ_0 and ĝ_1/s, s the deviation of ξᵀx; a ξᵀx that is constant has no slope."""
        deviation = self.law(gaussian)[1]
        constant, linear = self.coefficients(gaussian, 1)
        slope = np.divide(linear, deviation, out=np.zeros(1), where=deviation > 0)
        return float(constant), slope

    def has_finite_power(self, gaussian: Gaussian) -> bool:
        """Return whether link² falls off faster than the component's tails rise."""
        return decays(self.link, *self.law(gaussian))

    def coefficients_at(self, means: Floats, deviations: Floats, order: int) -> Floats:
        """Return E[link(m + s z) H_l(z)]/√l!."""
        return hermite_coefficients(self.link, means, deviations, order=order)

    def second_moment_at(self, means: Floats, deviations: Floats) -> Floats:
        """Return E[link(m + s z)²] + δ²."""
        return second_moment(self.link, means, deviations) + self.noise * self.noise


def _direction(value: Any) -> Literal["random", "spikes"] | Array:
    if isinstance(value, str):
        if value not in ("random", "spikes"):
            raise ValueError('must be "random", "spikes" or an array of length n; choose')
        return "random" if value == "random" else "spikes"
    array = Array.of(value)
    if array.values.ndim != 1 or not np.any(array.values):
        raise ValueError("must be a non-zero array of length n; correct it")
    return array


def scaled_to(direction: Floats, length: float) -> Floats:
    """Return the vector of this direction and length."""
    direction = direction / np.max(np.abs(direction))  # no norm overflows or vanishes
    return direction * (length / np.linalg.norm(direction))


Direction = Annotated[
    Literal["random", "spikes"] | Array,
    PlainValidator(_direction, json_schema_input_type=Literal["random", "spikes"] | list[float]),
]
LinkName = Annotated[str, BeforeValidator(lambda link: functions.function_name(link, field="link"))]


class OneDirection(TeacherDescription):
    """What teachers of one direction ξ share: the direction, its length, and how it is drawn.

    `direction` of ξ: "random", "spikes" (∝ Σ_{c,i} γ_{c,i}) or an array. ‖ξ‖ = 1/√‖Σ‖ unless
    `norm` says otherwise; a given array is rescaled too.
    """

    direction: Direction = Field(
        default="random", description='Direction ξ: "random", "spikes" for their sum, or n numbers.'
    )
    norm: Positive | None = Field(
        default=None,
        description="‖ξ‖; 1/√‖Σ‖ when left out.",
        json_schema_extra=control(
            label="Length of ξ", symbol="‖ξ‖", low=0.01, high=10, scale="log"
        ),
    )

    def draw_direction(
        self, population: Population, norm: float, rng: np.random.Generator
    ) -> Floats:
        """Return ξ as a column, n × 1; `norm` is ‖Σ‖."""
        if isinstance(self.direction, Array):
            direction: Floats = self.direction.values
        elif self.direction == "spikes":
            direction = population.spike_sum
            if not np.linalg.norm(direction) > 1e-6:
                raise InvalidInput(
                    'teacher.direction="spikes": the sum of all spikes must not vanish; '
                    "raise the rank, change the alignment or choose another direction"
                )
        else:
            direction = rng.standard_normal(population.dimension)
        length = self.norm if self.norm is not None else 1 / np.sqrt(norm)
        return scaled_to(direction, length)[:, None]

    def check(self, source: Source, dimension: int) -> None:
        """Raise ValueError where the direction does not fit these data."""
        if isinstance(self.direction, Array):
            if self.direction.shape != (dimension,):
                raise ValueError(
                    f"teacher.direction: has length {self.direction.shape[0]}, must have "
                    f"dimension={dimension}; change one of them"
                )
        elif self.direction == "spikes" and not source.has_spikes:
            raise ValueError(
                'teacher.direction="spikes": the data have no spikes; raise a rank or choose '
                '"random"'
            )


@TEACHERS.built_in
class SingleIndex(OneDirection):
    """Regression: y = link(ξᵀx) + noise·N(0, 1)."""

    kind: Literal["index"] = Field(
        default="index", description="Labels by a link of one direction."
    )
    link: LinkName = Field(
        default="relu",
        description="Link function of the teacher: a name or a formula.",
        json_schema_extra=control(
            label="Link",
            symbol="σ*",
            sentence="How a label follows from one direction of an input: a name or a formula.",
            names="functions",
            main=True,
        ),
    )
    noise: NonNegative = Field(
        default=0.0,
        description="Deviation of label noise.",
        json_schema_extra=NOISE_CONTROL,
    )

    def draw(self, population: Population, norm: float, rng: np.random.Generator) -> Teacher:
        """Return a teacher with ξ drawn; `norm` is ‖Σ‖."""
        xi = self.draw_direction(population, norm, rng)
        return IndexTeacher(xi, functions.get(self.link, field="link"), self.noise)

    @property
    def functions(self) -> tuple[str, ...]:
        """The link."""
        return (self.link,)
