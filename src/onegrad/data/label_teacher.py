"""The teacher that reads the component's label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from onegrad.calculus.function import Function
from onegrad.data.mixture import Gaussian
from onegrad.data.population import Population, RowLabels
from onegrad.data.source import Source
from onegrad.data.teacher import FLIPS_CONTROL, NOISE_CONTROL, TEACHERS, Teacher, TeacherDescription
from onegrad.describe.arrays import Floats
from onegrad.describe.fields import Half, NonNegative


@dataclass(frozen=True)
class LabelTeacher:
    """y = label of the component + δ·noise; its sign is wrong with probability `flips`."""

    directions: Floats
    class_labels: tuple[float, ...]
    noise: float = 0.0
    link: Function | None = None
    flips: float = 0.0

    def projected_variance(self, gaussian: Gaussian) -> float:
        """Return 0: class labels depend on no projection."""
        return 0.0

    def labels(self, projections: Floats, component: int, rng: np.random.Generator) -> Floats:
        """Return the component's label in every row, flipped at times, plus noise."""
        clean = np.full(len(projections), self.class_labels[component])
        if self.flips:
            clean = np.where(rng.random(len(clean)) < self.flips, -clean, clean)
        return clean + self.noise * rng.standard_normal(len(clean)) if self.noise else clean

    def expected_labels(self, projections: Floats, component: int) -> Floats:
        """Return (1 − 2·flips)·label of the component in every row."""
        return np.full(len(projections), (1 - 2 * self.flips) * self.class_labels[component])

    def coefficients(self, gaussian: Gaussian, order: int) -> Floats:
        """Return (E y, 0, 0, …): given the component, the label does not depend on x."""
        out = np.zeros(order + 1)
        out[0] = (1 - 2 * self.flips) * self._label(gaussian)
        return out

    def second_moment(self, gaussian: Gaussian) -> float:
        """Return label² + δ²."""
        return self._label(gaussian) ** 2 + self.noise * self.noise

    def linear_part(self, gaussian: Gaussian) -> tuple[float, Floats]:
        """Return E y; given the component the label is correlated with nothing."""
        return (1 - 2 * self.flips) * self._label(gaussian), np.zeros(0)

    def has_finite_power(self, gaussian: Gaussian) -> bool:
        """Labels are finite numbers."""
        return True

    def coefficients_at(self, means: Floats, deviations: Floats, order: int) -> Floats:
        """Not defined: class labels depend on no projection."""
        raise NotImplementedError("class labels have no projections")

    def second_moment_at(self, means: Floats, deviations: Floats) -> Floats:
        """Not defined: class labels depend on no projection."""
        raise NotImplementedError("class labels have no projections")

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
