"""Errors of one output per class by types, for the square loss.

Output j is trained on t_j = +1 for its class and −1 for all others. Reaches γ_t do not depend on
labels, weights are linear in them, variances quadratic: given the type t the outputs are jointly
Gaussian, with v_j the variance of output j and v_{j+l} that for the labels t_j + t_l,

    Cov(u_j, u_l | t) = (v_{j+l} − v_j − v_l)/2
    misclassification = Σ p_t P(argmax_j u_j ≠ class of t)

The outputs of training points are (u_j + γ_t t_j)/(1 + γ_t).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from onegrad.calculus.largest_gaussian import not_largest
from onegrad.calculus.type_labels import TypeLabels
from onegrad.describe.arrays import Floats
from onegrad.theory.by_types import OutputLaw, TypeAlgebra
from onegrad.theory.ridge_by_types import RidgeByTypes


class ClassesByTypes:
    """The solutions of all outputs, and of the sums of two, for one m and λ.

    `classes` are the numbers of the labels; the algebra's labels are those of components.
    """

    def __init__(
        self, algebra: TypeAlgebra, samples: int, ridge: float, *, classes: Sequence[float]
    ) -> None:
        labels = algebra.labels
        apart = np.abs(labels.means[:, None] - np.array(classes))
        self.own: NDArray[np.intp] = np.argmin(apart, axis=1)
        self.targets = np.where(np.arange(len(classes)) == self.own[:, None], 1.0, -1.0)
        start = RidgeByTypes(algebra, samples, ridge)
        self.ridge = ridge
        self.outputs = [
            start.relabelled(
                TypeLabels(labels.weights, labels.components, column, np.zeros_like(column))
            )
            for column in self.targets.T
        ]
        self.sums = {
            pair: self.outputs[pair[0]].plus(self.outputs[pair[1]])
            for pair in combinations(range(len(classes)), 2)
        }

    def errors(self) -> dict[str, float]:
        """Return means over outputs, and the rates."""
        first = self.outputs[0]
        each = [output.errors() for output in self.outputs]
        test = not_largest(*self._joint(lambda solution: solution.test), self.own)
        means, spread = self._joint(lambda solution: solution.training)
        means = means + first.reach[:, None] * self.targets
        train = not_largest(means, spread, self.own)
        return {
            **{name: float(np.mean([part[name] for part in each])) for name in each[0]},
            "misclassification": float(first.labels.weights @ test),
            "train_misclassification": float(first.weights @ train),
        }

    def _joint(self, law: Callable[[RidgeByTypes], OutputLaw]) -> tuple[Floats, Floats]:
        """Return means (T × K) and covariances (T × K × K) of the outputs by one of their laws."""
        means = np.stack([law(output).mean for output in self.outputs], axis=1)
        return means, self.covariances(lambda solution: law(solution).variance + solution.variance)

    def covariances(self, variance: Callable[[RidgeByTypes], Floats]) -> Floats:
        """Return covariances by polarisation of the variances of outputs and sums of two."""
        own = [variance(output) for output in self.outputs]
        out = np.empty((len(own[0]), len(own), len(own)))
        for j, value in enumerate(own):
            out[:, j, j] = value
        for (j, other), both in self.sums.items():
            out[:, j, other] = (variance(both) - own[j] - own[other]) / 2
            out[:, other, j] = out[:, j, other]
        return out
