"""The errors of one model without draws: types, features, equivalent, response."""

from __future__ import annotations

from dataclasses import dataclass, field
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
from onegrad.theory.closed.setting import ClosedSetting
from onegrad.theory.closed.sign_rates import wrong_signs

Layer = Literal["initial", "trained"]

MOST_ENTRIES = 4_000_000  # of sample and neuron types, of the points that are solved together


@dataclass(frozen=True)
class ClosedTheory:
    """All that models of one setting share: the laws of F before and after the step."""

    setting: ClosedSetting
    _equations: dict[tuple[int | None, Layer], Equations] = field(
        default_factory=dict, repr=False, compare=False
    )

    @cached_property
    def _trained(self) -> tuple[NeuronTypes, SamplePoints]:
        return self._with_samples(trained(self.setting))

    @cached_property
    def _initial(self) -> tuple[NeuronTypes, SamplePoints]:
        return self._with_samples(untrained(self.setting))

    def _with_samples(self, types: NeuronTypes) -> tuple[NeuronTypes, SamplePoints]:
        law, most = self.setting.law, self.setting.most_samples
        return types, sample_points(types.frame, law, types.load, types.bulk_variance, most)

    def types(self, layer: Layer = "trained") -> tuple[NeuronTypes, SamplePoints]:
        """Return the types of neurons and of samples, before or after the step."""
        return self._initial if layer == "initial" else self._trained

    def equations(self, *, degree: int | None = None, layer: Layer = "trained") -> Equations:
        """Return the equations of a model: a Hermite one of this degree, or the network."""
        if (degree, layer) not in self._equations:
            setting = self.setting
            types, samples = self.types(layer)
            sigma = setting.activation
            model = (
                sigma if degree is None else expand(sigma, setting.bulk_deviation, degree=degree)
            )
            grid = feature_grid(samples, types, setting.law, model, draft=setting.draft)
            self._equations[degree, layer] = Equations(grid, setting.neurons)
        return self._equations[degree, layer]

    def errors(
        self,
        samples: Floats,
        ridges: Floats,
        *,
        degree: int | None = None,
        layer: Layer = "trained",
        random_overlap: float = 0.0,
    ) -> tuple[dict[str, Floats], list[ClosedIndicators]]:
        """Return metrics and how sure they are, at points (m, λ), one for each entry of both."""
        setting = self.setting
        types, points = self.types(layer)
        equations = self.equations(degree=degree, layer=layer)
        size = len(points.weights) * len(types.weights)
        together = max(1, MOST_ENTRIES // size)
        parts, sure = [], []
        for start in range(0, len(samples), together):
            chosen = slice(start, start + together)
            solution = equations.solve(np.asarray(samples[chosen]), np.asarray(ridges[chosen]))
            errors = point_errors(solution, exact_counts=setting.exact_counts)
            parts.append(self._metrics(errors, solution.ridges, layer))
            sure += indicators_of(
                setting, types, points, solution, errors, random_overlap=random_overlap
            )
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}, sure

    def _metrics(self, errors: PointErrors, ridges: Floats, layer: Layer) -> dict[str, Floats]:
        types, points = self.types(layer)
        rates = {}
        if self.setting.binary:
            wrong = wrong_signs(errors, types.frame, points, self.setting.law)
            rates = {
                "misclassification": wrong.misclassification,
                "train_misclassification": wrong.train_misclassification,
            }
        train, norm = errors.train_mse, errors.norm
        return {
            "test_mse": errors.test_mse,
            "train_mse": train,
            "objective": 0.5 * train + 0.5 * ridges * norm,
            "squared_weight_norm": norm,
            **rates,
        }
