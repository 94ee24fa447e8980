"""Teachers: how a label follows from an input, y = σ_*(ξᵀx) + δ·noise or a label per component."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol

import numpy as np
from pydantic import PlainValidator, field_validator

from onegrad import activations
from onegrad.activations import Activation
from onegrad.arrays import Array, Floats
from onegrad.data.mixture import Gaussian
from onegrad.data.population import Population
from onegrad.expectations import decays, hermite_coefficients, second_moment
from onegrad.validation import InvalidInput, NonNegative, Positive, Value


class Teacher(Protocol):
    """A drawn teacher. `directions` is n × r; the label depends on x through r projections."""

    @property
    def directions(self) -> Floats:
        """ξ as columns, n × r; r = 0 for class labels."""

    @property
    def noise(self) -> float:
        """δ, the deviation of additive label noise."""

    @property
    def link(self) -> Activation | None:
        """The link function where the label is one function of one projection."""

    def projected_variance(self, gaussian: Gaussian) -> float:
        """Return the variance of ξᵀx under one component."""

    def labels(self, projections: Floats, component: int, rng: np.random.Generator) -> Floats:
        """Return y for rows of projections (rows × r) that come from one component."""

    def coefficients(self, gaussian: Gaussian, order: int) -> Floats:
        """Return ĝ_l = E[y H_l(standardised ξᵀx)]/√l! under one component, l ≤ order."""

    def second_moment(self, gaussian: Gaussian) -> float:
        """Return E[y²] under one component, noise included."""

    def has_finite_power(self, gaussian: Gaussian) -> bool:
        """Return whether E[y²] is finite under one component."""

    def local_coefficients(self, means: Floats, deviations: Floats, order: int) -> Floats:
        """Return E[y H_l(z)]/√l! where the projection is means + deviations·z; needs r = 1."""

    def local_second_moment(self, means: Floats, deviations: Floats) -> Floats:
        """Return E[y²] there, noise included."""


@dataclass(frozen=True)
class IndexTeacher:
    """y = link(ξᵀx) + δ·noise, with ξ the single column of `directions`."""

    directions: Floats
    link: Activation
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
        return self.local_coefficients(*self.law(gaussian), order)[:, 0]

    def second_moment(self, gaussian: Gaussian) -> float:
        """Return E[link²] + δ²."""
        return float(self.local_second_moment(*self.law(gaussian))[0])

    def has_finite_power(self, gaussian: Gaussian) -> bool:
        """Return whether link² falls off faster than the component's tails rise."""
        return decays(self.link, *self.law(gaussian))

    def local_coefficients(self, means: Floats, deviations: Floats, order: int) -> Floats:
        """Return E[link(m + s z) H_l(z)]/√l!."""
        return hermite_coefficients(self.link, means, deviations, order=order)

    def local_second_moment(self, means: Floats, deviations: Floats) -> Floats:
        """Return E[link(m + s z)²] + δ²."""
        return second_moment(self.link, means, deviations) + self.noise * self.noise


@dataclass(frozen=True)
class LabelTeacher:
    """y = label of the component + δ·noise."""

    directions: Floats
    class_labels: tuple[float, ...]
    noise: float = 0.0
    link: Activation | None = None

    def projected_variance(self, gaussian: Gaussian) -> float:
        """Return 0: class labels depend on no projection."""
        return 0.0

    def labels(self, projections: Floats, component: int, rng: np.random.Generator) -> Floats:
        """Return the component's label in every row, plus noise."""
        clean = np.full(len(projections), self.class_labels[component])
        return clean + self.noise * rng.standard_normal(len(clean)) if self.noise else clean

    def coefficients(self, gaussian: Gaussian, order: int) -> Floats:
        """Return (label, 0, 0, …): given the component, the label does not depend on x."""
        out = np.zeros(order + 1)
        out[0] = self._label(gaussian)
        return out

    def second_moment(self, gaussian: Gaussian) -> float:
        """Return label² + δ²."""
        return self._label(gaussian) ** 2 + self.noise * self.noise

    def has_finite_power(self, gaussian: Gaussian) -> bool:
        """Labels are finite numbers."""
        return True

    def local_coefficients(self, means: Floats, deviations: Floats, order: int) -> Floats:
        """Not defined: class labels depend on no projection."""
        raise NotImplementedError("class labels have no projections")

    def local_second_moment(self, means: Floats, deviations: Floats) -> Floats:
        """Not defined: class labels depend on no projection."""
        raise NotImplementedError("class labels have no projections")

    def _label(self, gaussian: Gaussian) -> float:
        assert gaussian.label is not None
        return gaussian.label


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


class SingleIndex(Value):
    """Regression: y = link(ξᵀx) + noise·N(0, 1).

    `direction` of ξ: "random", "spikes" (∝ Σ_{c,i} γ_{c,i}) or an array. ‖ξ‖ = 1/√‖Σ‖ unless
    `norm` says otherwise; a given array is rescaled too.
    """

    kind: Literal["index"] = "index"
    link: str = "relu"
    direction: Annotated[Literal["random", "spikes"] | Array, PlainValidator(_direction)] = "random"
    norm: Positive | None = None
    noise: NonNegative = 0.0

    @field_validator("link")
    @classmethod
    def _known(cls, name: str) -> str:
        return activations.get(name, field="link").name

    def draw(self, population: Population, norm: float, rng: np.random.Generator) -> Teacher:
        """Return a teacher with ξ drawn; `norm` is ‖Σ‖."""
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
        xi = scaled_to(direction, length)
        return IndexTeacher(xi[:, None], activations.get(self.link), self.noise)


class ClassLabels(Value):
    """Classification by squared loss: y = label of the component + noise·N(0, 1)."""

    kind: Literal["labels"] = "labels"
    noise: NonNegative = 0.0

    def draw(self, population: Population, norm: float, rng: np.random.Generator) -> Teacher:
        """Return a teacher that reads the component's label."""
        labels = tuple(float(label) for label in population.labels if label is not None)
        return LabelTeacher(np.zeros((population.dimension, 0)), labels, self.noise)
