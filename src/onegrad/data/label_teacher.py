"""The teacher that reads the component's label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from onegrad.calculus.function import Function
from onegrad.data.mixture import Gaussian
from onegrad.data.population import Population
from onegrad.data.source import Source
from onegrad.data.teacher import TEACHERS, Teacher, TeacherDescription
from onegrad.describe.arrays import Floats
from onegrad.describe.fields import NonNegative


@dataclass(frozen=True)
class LabelTeacher:
    """y = label of the component + δ·noise."""

    directions: Floats
    class_labels: tuple[float, ...]
    noise: float = 0.0
    link: Function | None = None

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

    def linear_part(self, gaussian: Gaussian) -> tuple[float, Floats]:
        """Return the label; given the component it is correlated with nothing."""
        return self._label(gaussian), np.zeros(0)

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
    """Classification by squared loss: y = label of the component + noise·N(0, 1)."""

    reads_labels: ClassVar[bool] = True

    kind: Literal["labels"] = Field(default="labels", description="Labels by component or class.")
    noise: NonNegative = Field(default=0.0, description="Deviation of label noise.")

    def draw(self, population: Population, norm: float, rng: np.random.Generator) -> Teacher:
        """Return a teacher that reads the component's label."""
        labels = tuple(float(label) for label in population.labels if label is not None)
        return LabelTeacher(np.zeros((population.dimension, 0)), labels, self.noise)

    def check(self, source: Source, dimension: int) -> None:
        """Raise ValueError where a part of the data has no label."""
        source.check_labels()

    def is_binary(self, source: Source) -> bool:
        """Return whether all labels are ±1."""
        return set(source.part_labels) <= {1.0, -1.0}
