"""The errors of one model without draws: types, features, equivalent, response."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from onegrad.calculus.expansion import expand
from onegrad.describe.arrays import Floats
from onegrad.theory.closed.doubts import ClosedIndicators, indicators_of
from onegrad.theory.closed.equivalent import Equations
from onegrad.theory.closed.feature_grid import feature_grid
from onegrad.theory.closed.neuron_types import NeuronTypes, trained, untrained
from onegrad.theory.closed.point_errors import PointErrors, point_errors
from onegrad.theory.closed.sample_points import SamplePoints, sample_points
from onegrad.theory.closed.setting import Setting

Layer = Literal["initial", "trained"]


@dataclass(frozen=True)
class ClosedTheory:
    """All that models of one setting share: the laws of F before and after the step."""

    setting: Setting

    @cached_property
    def _trained(self) -> tuple[NeuronTypes, SamplePoints]:
        return self._with_samples(trained(self.setting))

    @cached_property
    def _initial(self) -> tuple[NeuronTypes, SamplePoints]:
        return self._with_samples(untrained(self.setting))

    def _with_samples(self, types: NeuronTypes) -> tuple[NeuronTypes, SamplePoints]:
        law = self.setting.law
        return types, sample_points(types.frame, law, types.load, types.bulk_variance)

    def types(self, layer: Layer = "trained") -> tuple[NeuronTypes, SamplePoints]:
        """Return the types of neurons and of samples, before or after the step."""
        return self._initial if layer == "initial" else self._trained

    def equations(self, *, degree: int | None = None, layer: Layer = "trained") -> Equations:
        """Return the equations of a model: a Hermite one of this degree, or the network."""
        setting = self.setting
        types, samples = self.types(layer)
        sigma = setting.activation
        model = sigma if degree is None else expand(sigma, setting.bulk_deviation, degree=degree)
        return Equations(feature_grid(samples, types, setting.law, model), setting.neurons)

    def errors(
        self,
        samples: Floats,
        ridges: Floats,
        *,
        degree: int | None = None,
        layer: Layer = "trained",
        random_overlap: float = 0.0,
    ) -> list[tuple[PointErrors, ClosedIndicators]]:
        """Return errors and how sure they are, at points (m, λ), one for each entry of both."""
        setting = self.setting
        types, points = self.types(layer)
        equations = self.equations(degree=degree, layer=layer)
        solution = equations.solve(np.asarray(samples, float), np.asarray(ridges, float))
        out = []
        for i in range(len(samples)):
            errors = point_errors(solution, i, exact_counts=setting.exact_counts)
            sure = indicators_of(
                setting, types, points, solution, errors, i, random_overlap=random_overlap
            )
            out.append((errors, sure))
        return out
