"""Teachers: how labels follow from inputs.

A teacher of your own is a description (a subclass of `TeacherDescription`) whose `draw` returns a
`Teacher`; `register_teacher` makes it known to problems, files and workers. Teachers of several
directions are in `joint_teachers.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Protocol, TypeGuard, runtime_checkable

import numpy as np
from pydantic import BeforeValidator, Field, PlainValidator, model_validator

from onegrad.calculus import functions
from onegrad.calculus.expectations import (
    decays,
    hermite_coefficients,
    second_moment,
    trapezoid_rule,
)
from onegrad.calculus.function import Function, orthonormal_hermite, sign_coefficients
from onegrad.data.mixture import Gaussian
from onegrad.data.source import Population, RowLabels, Source
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import Array, Floats
from onegrad.describe.registry import TaggedUnion
from onegrad.describe.value import Half, NonNegative, Positive, Value, control

# How the explorer shows what several teachers have.
NOISE_CONTROL = control(
    label="Label noise",
    symbol="δ",
    sentence="How much random error labels have.",
    low=0,
    high=1,
    main=True,
)
FLIPS_CONTROL = control(
    label="Wrong labels", sentence="Share of labels with the wrong sign.", main=True
)


class Teacher(Protocol):
    """A drawn teacher; labels depend on x through the r projections Ξᵀx."""

    @property
    def directions(self) -> Floats:
        """Ξ, the directions as columns (n × r); r = 0 for class labels."""

    @property
    def noise(self) -> float:
        """δ, the deviation of additive label noise."""

    @property
    def link(self) -> Function | None:
        """The link function, if the label is one function of one projection."""

    def labels(self, projections: Floats, component: int, rng: np.random.Generator) -> Floats:
        """Return y for rows of projections (rows × r) that come from one component."""

    def linear_part(self, gaussian: Gaussian) -> tuple[float, Floats]:
        """Return E[y] and q with Cov(y, cᵀx) = cᵀΣ_cΞq for every c, under one component.

        With v = Ξᵀx of covariance S, q = S⁻¹E[(v − E v) y] (Stein).
        """

    def second_moment(self, gaussian: Gaussian) -> float:
        """Return E[y²] under one component, noise included."""

    def has_finite_power(self, gaussian: Gaussian) -> bool:
        """Return whether E[y²] is finite under one component."""


class OneProjection(Teacher, Protocol):
    """A teacher with r = 1, whose moments are known for any normal law of its projection."""

    def coefficients_at(self, means: Floats, deviations: Floats, order: int) -> Floats:
        """Return E[y H_l(z)]/√l! for l ≤ order where the projection is means + deviations·z."""

    def second_moment_at(self, means: Floats, deviations: Floats) -> Floats:
        """Return E[y²] where the projection is means + deviations·z, noise included."""


def reads_one_projection(teacher: Teacher) -> TypeGuard[OneProjection]:
    """Return whether a teacher has one direction."""
    return teacher.directions.shape[1] == 1


def projection_law(directions: Floats, gaussian: Gaussian) -> tuple[Floats, Floats]:
    """Return mean and deviation of ξᵀx under one component, as arrays of length 1."""
    mean = np.zeros(1) if gaussian.mean is None else directions.T @ gaussian.mean
    return mean, np.full(1, np.sqrt(gaussian.projected_variance(directions)))


def projection_coefficients(teacher: OneProjection, gaussian: Gaussian, order: int) -> Floats:
    """Return ĝ_l = E[y H_l(standardised ξᵀx)]/√l! for l ≤ order, under one component."""
    return teacher.coefficients_at(*projection_law(teacher.directions, gaussian), order)[:, 0]


def linear_part_of_projection(teacher: OneProjection, gaussian: Gaussian) -> tuple[float, Floats]:
    """Return ĝ_0 and ĝ_1/s, s the deviation of ξᵀx; a constant ξᵀx has no slope."""
    deviation = projection_law(teacher.directions, gaussian)[1]
    constant, linear = projection_coefficients(teacher, gaussian, 1)
    return float(constant), np.divide(linear, deviation, out=np.zeros(1), where=deviation > 0)


@runtime_checkable
class ExpectedSigns(Protocol):
    """A teacher of labels ±1 that knows how likely they are; others are asked for drawn labels."""

    def expected_labels(self, projections: Floats, component: int) -> Floats:
        """Return E[y | x] of rows of one component: flips are in it, additive noise is not."""


class TeacherDescription(Value):
    """A description of how labels are made. Only `kind` and `draw` must be given.

    `reads_labels` says that labels are those of the data's parts.
    """

    reads_labels: ClassVar[bool] = False

    kind: str

    def draw(self, population: Population, norm: float, rng: np.random.Generator) -> Teacher:
        """Return the teacher of one trial; `norm` is ‖Σ‖."""
        raise NotImplementedError(f"a teacher of kind {self.kind!r} must define draw")

    def check(self, source: Source, dimension: int) -> None:
        """Raise ValueError where the teacher does not fit these data."""

    def is_binary(self, source: Source) -> bool:
        """Return whether labels are ±1 but for additive noise, so that errors can be counted."""
        return False

    @classmethod
    def complete(cls, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return a problem's fields with what follows from the teacher where nothing is said."""
        return dict(fields)

    @property
    def functions(self) -> tuple[str, ...]:
        """The names or formulas of the functions that the teacher uses."""
        return ()

    # A field of a subclass may not shadow an attribute of this class: hence the other names.
    @property
    def label_noise(self) -> float:
        """δ, the deviation of additive noise: the field `noise`, 0 for a teacher without it."""
        return float(self.__dict__.get("noise", 0.0))

    @property
    def flip_rate(self) -> float:
        """The probability of a wrong sign: the field `flips`, 0 for a teacher without it."""
        return float(self.__dict__.get("flips", 0.0))


def _default_kind(fields: dict[str, Any]) -> str:
    """Return "indices" for fields with links, else "index"."""
    return "indices" if "links" in fields else "index"


TEACHERS: TaggedUnion[TeacherDescription] = TaggedUnion(
    TeacherDescription, "teachers", _default_kind, home=__name__
)


def register_teacher(description: type[TeacherDescription]) -> type[TeacherDescription]:
    """Return your own teacher class after making its kind known; use it as a decorator."""
    return TEACHERS.register(description)


@dataclass(frozen=True)
class IndexTeacher:
    """y = link(ξᵀx) + δ·noise, with ξ the single column of `directions`."""

    directions: Floats
    link: Function
    noise: float = 0.0

    def labels(self, projections: Floats, component: int, rng: np.random.Generator) -> Floats:
        """Return link(projections) + δ·noise."""
        clean = self.link(projections[:, 0])
        return clean + self.noise * rng.standard_normal(len(clean)) if self.noise else clean

    def linear_part(self, gaussian: Gaussian) -> tuple[float, Floats]:
        """Return ĝ_0 and ĝ_1/s."""
        return linear_part_of_projection(self, gaussian)

    def second_moment(self, gaussian: Gaussian) -> float:
        """Return E[link²] + δ²."""
        return float(self.second_moment_at(*projection_law(self.directions, gaussian))[0])

    def has_finite_power(self, gaussian: Gaussian) -> bool:
        """Return whether link² falls off faster than the component's tails rise."""
        return decays(self.link, *projection_law(self.directions, gaussian))

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


@dataclass(frozen=True)
class LabelTeacher:
    """y = label of the component + δ·noise; its sign is wrong with probability `flips`."""

    directions: Floats
    class_labels: tuple[float, ...]
    noise: float = 0.0
    link: Function | None = None
    flips: float = 0.0

    def labels(self, projections: Floats, component: int, rng: np.random.Generator) -> Floats:
        """Return the component's label in every row, flipped at times, plus noise."""
        clean = np.full(len(projections), self.class_labels[component])
        if self.flips:
            clean = np.where(rng.random(len(clean)) < self.flips, -clean, clean)
        return clean + self.noise * rng.standard_normal(len(clean)) if self.noise else clean

    def expected_labels(self, projections: Floats, component: int) -> Floats:
        """Return (1 − 2·flips)·label of the component in every row."""
        return np.full(len(projections), (1 - 2 * self.flips) * self.class_labels[component])

    def second_moment(self, gaussian: Gaussian) -> float:
        """Return label² + δ²."""
        return self._label(gaussian) ** 2 + self.noise * self.noise

    def linear_part(self, gaussian: Gaussian) -> tuple[float, Floats]:
        """Return E y; given the component the label is correlated with nothing."""
        return (1 - 2 * self.flips) * self._label(gaussian), np.zeros(0)

    def has_finite_power(self, gaussian: Gaussian) -> bool:
        """Labels are finite numbers."""
        return True

    def _label(self, gaussian: Gaussian) -> float:
        assert gaussian.label is not None
        return gaussian.label


@TEACHERS.built_in
class ClassLabels(TeacherDescription):
    """Classification: y = label of the component + noise·N(0, 1).

    Labels ±1 may be wrong with probability `flips` instead of noisy.
    """

    reads_labels: ClassVar[bool] = True

    kind: Literal["labels"] = Field(default="labels", description="Labels by component or class.")
    noise: NonNegative = Field(
        default=0.0,
        description="Deviation of label noise.",
        json_schema_extra=NOISE_CONTROL,
    )
    flips: Half = Field(
        default=0.0,
        description="Probability of a label of the wrong sign.",
        json_schema_extra=FLIPS_CONTROL,
    )

    @model_validator(mode="after")
    def _one_noise(self) -> ClassLabels:
        if self.noise and self.flips:
            raise ValueError(
                f"noise={self.noise:g} and flips={self.flips:g}: must not be given together; keep "
                "one"
            )
        return self

    def draw(self, population: Population, norm: float, rng: np.random.Generator) -> Teacher:
        """Return a teacher that reads the component's label.

        What a number y of the rows varies within a part is noise to it.
        """
        labels = tuple(float(label) for label in population.labels if label is not None)
        none = np.zeros((population.dimension, 0))
        noise = self.noise
        if isinstance(population, RowLabels) and population.label_deviation:
            noise = float(np.hypot(noise, population.label_deviation))
        return LabelTeacher(none, labels, noise, flips=self.flips)

    def check(self, source: Source, dimension: int) -> None:
        """Raise ValueError where a part of the data has no label, or flips have no meaning."""
        source.check_labels()
        if self.flips and not self.is_binary(source):
            raise ValueError(
                f"teacher.flips={self.flips:g}: needs labels of +1 and -1; change the labels, or "
                "leave it out"
            )

    def is_binary(self, source: Source) -> bool:
        """Return whether all labels are ±1."""
        return set(source.part_labels) <= {1.0, -1.0}


# tanh(m + sz) has poles at distance π/(2s): a step of 0.3/s leaves e^{−π²/0.3} = 5e−15. Theory asks
# for few degrees very often.
TANH_STEP, LARGEST_STEP, FEW_DEGREES, MODERATE = 0.3, 0.35, 2, 20.0
SEEN = 8.5  # deviations, beyond which tanh adds less than rounding


@dataclass(frozen=True)
class SignTeacher:
    """y = ±1 with E[y | x] = g(ξᵀx): y is +1 with probability (1 + g)/2.

    `expected` is the teacher of g itself, whose link has `coefficients`. Moments with functions of
    x are those of g; E[y²] = 1.
    """

    expected: IndexTeacher
    noise: float = 0.0
    link: Function | None = None  # y is no function of ξᵀx: no closed form of a link applies

    @property
    def directions(self) -> Floats:
        """ξ as a column."""
        return self.expected.directions

    def expected_labels(self, projections: Floats, component: int) -> Floats:
        """Return g(projections)."""
        return self.expected.link(projections[:, 0])

    def labels(self, projections: Floats, component: int, rng: np.random.Generator) -> Floats:
        """Return signs, +1 with probability (1 + g)/2; one uniform number is drawn for each."""
        share = 0.5 + 0.5 * self.expected_labels(projections, component)
        return np.where(rng.random(len(share)) < share, 1.0, -1.0)

    def linear_part(self, gaussian: Gaussian) -> tuple[float, Floats]:
        """Return ĝ_0 and ĝ_1/s."""
        return linear_part_of_projection(self, gaussian)

    def second_moment(self, gaussian: Gaussian) -> float:
        """Return 1."""
        return 1.0

    def has_finite_power(self, gaussian: Gaussian) -> bool:
        """Labels are ±1."""
        return True

    def coefficients_at(self, means: Floats, deviations: Floats, order: int) -> Floats:
        """Return E[g(m + s z) H_l(z)]/√l!; g(m) and zeros where the deviation is 0."""
        m, s = np.broadcast_arrays(np.asarray(means, float), np.asarray(deviations, float))
        link, fixed = self.expected.link, s == 0
        assert link.coefficients is not None
        out = link.coefficients(m, np.where(fixed, 1.0, s), order)
        out[:, fixed] = 0.0
        out[0, fixed] = link(m[fixed])
        return out

    def second_moment_at(self, means: Floats, deviations: Floats) -> Floats:
        """Return ones."""
        return np.ones(np.broadcast_shapes(np.shape(means), np.shape(deviations)))


def flipped_sign(flips: float) -> Function:
    """Return g(s) = (1 − 2·flips)·sign(s), with sign(0) = 1."""
    size = 1 - 2 * flips

    def coefficients(means: Floats, deviations: Floats, order: int) -> Floats:
        return size * sign_coefficients(means, deviations, order)

    return Function(
        "sign", lambda s: np.where(s < 0, -size, size), kinks=(0.0,), coefficients=coefficients
    )


def logistic_mean(slope: float) -> Function:
    """Return g(s) = tanh(slope·s/2) = 2/(1 + e^{−slope·s}) − 1."""
    half, tanh = slope / 2, functions.get("tanh")

    def coefficients(means: Floats, deviations: Floats, order: int) -> Floats:
        m, s = half * means, half * deviations
        widest = float(np.max(s, initial=0.0))
        if order > FEW_DEGREES or widest > MODERATE:
            return hermite_coefficients(tanh, m, s, order=order)
        step = LARGEST_STEP if widest == 0 else min(LARGEST_STEP, TANH_STEP / widest)
        nodes, weights = trapezoid_rule(s, largest_step=step)
        near = np.abs(nodes) <= SEEN
        nodes, weights = nodes[near], weights[near]
        values = np.tanh(m[..., None] + s[..., None] * nodes)
        return np.moveaxis(values @ (orthonormal_hermite(nodes, order) * weights).T, -1, 0)

    return Function("logistic", lambda s: np.tanh(half * s), coefficients=coefficients)


class _Signs(OneDirection):
    """What teachers of signs share."""

    def is_binary(self, source: Source) -> bool:
        """Labels are ±1 on any data."""
        return True

    def expected_label(self) -> Function:
        """Return g with E[y | x] = g(ξᵀx)."""
        raise NotImplementedError(f"a teacher of kind {self.kind!r} must define expected_label")

    def draw(self, population: Population, norm: float, rng: np.random.Generator) -> Teacher:
        """Return a teacher with ξ drawn; `norm` is ‖Σ‖."""
        xi = self.draw_direction(population, norm, rng)
        return SignTeacher(IndexTeacher(xi, self.expected_label()))


@TEACHERS.built_in
class SignIndex(_Signs):
    """Classification: y = sign(ξᵀx), wrong with probability `flips`; sign(0) is +1."""

    kind: Literal["sign"] = Field(default="sign", description="Labels by the sign of ξᵀx.")
    flips: Half = Field(
        default=0.0,
        description="Probability of a label of the wrong sign.",
        json_schema_extra=FLIPS_CONTROL,
    )

    def expected_label(self) -> Function:
        """Return (1 − 2·flips)·sign."""
        return flipped_sign(self.flips)


@TEACHERS.built_in
class LogisticIndex(_Signs):
    """Classification: y = ±1, +1 with probability 1/(1 + e^{−slope·ξᵀx})."""

    kind: Literal["logistic"] = Field(
        default="logistic", description="Labels ±1 by a logistic probability of ξᵀx."
    )
    slope: Positive = Field(
        default=1.0,
        description="Slope of the logistic probability.",
        json_schema_extra=control(
            label="Slope",
            sentence="How surely a label follows the sign.",
            low=0.1,
            high=30,
            scale="log",
            main=True,
        ),
    )

    def expected_label(self) -> Function:
        """Return tanh(slope·s/2)."""
        return logistic_mean(self.slope)
