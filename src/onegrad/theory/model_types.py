"""The types of one model after a step, and which algebra serves it.

Types share their covariance up to a factor where that holds: it is the faster by far, and one
reduction serves every number of samples, penalty and loss. Where the features' variances change
their shape from type to type, as those of Hermite models do at strong spikes, every type has its
own. Where spikes are too many for a grid, components are the types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from onegrad.calculus.prediction import Prediction
from onegrad.data.mixture import Mixture
from onegrad.data.teachers import Teacher
from onegrad.describe.exceptions import NotConverged
from onegrad.describe.numbers import Floats
from onegrad.moments.feature_laws import FeatureMap
from onegrad.theory.algebra import (
    OwnCovariances,
    SharedCovariance,
    TypeAlgebra,
    component_moments,
    grid_labels,
    grid_moments,
    unevenness,
)
from onegrad.theory.equations import ClassesByTypes, Solution, solve_by_types
from onegrad.theory.grid import GridTooLarge, Types, all_types, fits_grid
from onegrad.theory.points import Margins, PointBlock
from onegrad.theory.reliability import notes_of, reach_spread, theory_error

LARGEST_UNEVENNESS = 0.8  # of types that share a covariance
LARGEST_CORRELATION = 0.9  # of output and projection, squared, for types that share a covariance
MOST_WORK = 1e9  # types × k² of a model whose types may have a covariance each
# Of reaches, and of neurons to samples: readouts that fit all samples feel the covariances' shapes.
LARGEST_SPREAD, WIDE, LESS_WORK = 0.35, 1.1, 2e8


@dataclass(frozen=True)
class ModelTypes:
    """A model's feature map on a first layer; `initial` is the layer before the steps.

    `binary` says that labels are ±1. `rounds` draws points from the mixture, for errors that
    components as types do not tell. `convex` says that losses other than the square are wanted,
    which pay more for every type.
    """

    mixture: Mixture
    teacher: Teacher
    feature_map: FeatureMap
    first_layer: Floats
    initial: Floats
    binary: bool
    exact_counts: bool
    rounds: Callable[[], Iterator[list[PointBlock]]] | None = None
    convex: bool = False

    @property
    def on_grid(self) -> bool:
        """Whether types are coordinates on a grid, not components alone."""
        return self._grid is not None

    @cached_property
    def _grid(self) -> list[Types] | None:
        """The types on the grid; None where components are the types."""
        if not fits_grid(self.mixture, self.teacher, convex=self.convex):
            return None
        try:
            return all_types(
                self.mixture,
                self.teacher,
                self.feature_map,
                self.first_layer,
                initial=self.initial,
                binary=self.binary,
            )
        except GridTooLarge:
            return None

    @cached_property
    def _first(self) -> tuple[TypeAlgebra, bool]:
        """The algebra to begin with, and whether its types have a covariance each."""
        types = self._grid
        if types is None:
            moments = component_moments(
                self.mixture,
                self.teacher,
                self.first_layer,
                self.feature_map,
                binary=self.binary,
            )
            # Rates and losses are then averaged over points, which need the basis.
            algebra = SharedCovariance(moments, exact_counts=self.exact_counts, axes=self._averaged)
            return algebra, False
        if unevenness(types) > LARGEST_UNEVENNESS and _work(types) <= MOST_WORK:
            return self._own, True
        labels = grid_labels(types, self.teacher, binary=self.binary)
        moments = grid_moments(types, labels)
        return SharedCovariance(moments, exact_counts=self.exact_counts), False

    @cached_property
    def _own(self) -> OwnCovariances:
        assert self._grid is not None
        labels = grid_labels(self._grid, self.teacher, binary=self.binary)
        return OwnCovariances(self._grid, labels, exact_counts=self.exact_counts)

    def solve(self, samples: int, ridge: float, *, loss: str) -> Solution:
        """Return the solution; by a covariance per type where one for all does not serve.

        That is where u and s nearly agree, or where a wide network fits samples of unequal reach.
        """
        algebra, own = self._first
        if own or not self.on_grid:
            return solve_by_types(algebra, samples, ridge, loss=loss)
        try:
            solution = solve_by_types(algebra, samples, ridge, loss=loss)
            if solution.correlation <= LARGEST_CORRELATION and not self._strained(solution):
                return solution
        except NotConverged:
            if algebra.labels.centres is None or loss == "square":
                raise
        return solve_by_types(self._own, samples, ridge, loss=loss)

    def _strained(self, solution: Solution) -> bool:
        """Whether samples of unequal reach are fitted, by a network small enough to do better."""
        assert self._grid is not None
        wide = solution.algebra.neurons > WIDE * solution.samples
        return wide and reach_spread(solution) > LARGEST_SPREAD and _work(self._grid) <= LESS_WORK

    @property
    def _averaged(self) -> bool:
        """Whether errors are averaged over points."""
        return not self.on_grid and self.rounds is not None

    def predictions(
        self,
        *,
        samples: Sequence[int],
        ridges: Sequence[float],
        loss: str,
        classes: Sequence[float] = (),
    ) -> list[Prediction]:
        """Return the predictions for samples × penalties, with one output per class if any.

        `classes` are the labels that name them.
        """
        solutions = [
            self.solve_classes(m, ridge, classes) if classes else self.solve(m, ridge, loss=loss)
            for m in samples
            for ridge in ridges
        ]
        points = [self._prediction(solution) for solution in solutions]
        if self._averaged and (classes or self.binary or loss != "square"):
            return self._averages(points, solutions, loss)
        return points

    def _prediction(self, solution: Solution | ClassesByTypes) -> Prediction:
        errors = solution.errors()
        notes = [own.note for own in self._grid or () if own.note is not None]
        if isinstance(solution, ClassesByTypes):
            error = max(theory_error(output) for output in solution.outputs)
        else:
            error, notes = theory_error(solution), notes + notes_of(solution, errors)
        return Prediction(errors, error, tuple(notes))

    def solve_classes(self, samples: int, ridge: float, classes: Sequence[float]) -> ClassesByTypes:
        """Return the solution for one output per class, by the square loss."""
        return ClassesByTypes(self._first[0], samples, ridge, classes=classes)

    def _averages(
        self,
        points: list[Prediction],
        solutions: list[Solution | ClassesByTypes],
        loss: str,
    ) -> list[Prediction]:
        """Return predictions whose rates and losses are averages over drawn points."""
        algebra, _ = self._first
        assert isinstance(algebra, SharedCovariance)
        assert self.rounds is not None
        margins = Margins(algebra, self.feature_map, self.first_layer, solutions)
        averages, errors = margins.averages(self.rounds(), loss=loss)
        averaged = []
        for point, solution, average, error in zip(
            points, solutions, averages, errors, strict=True
        ):
            metrics = {**point.metrics, **average}
            # Nine in ten averages are within 1.6 standard errors.
            own = max(error[name] / average[name] for name in average if "train" not in name)
            if "train_loss" in average:
                norm = metrics["squared_weight_norm"]
                metrics["objective"] = average["train_loss"] + 0.5 * solution.ridge * norm
            off = float(np.hypot(point.theory_error, 1.6 * own))
            averaged.append(Prediction(metrics, off, point.notes))
        return averaged


def _work(types: list[Types]) -> float:
    """Return types × k²."""
    return float(sum(own.rest.size * own.rest.shape[1] for own in types))
