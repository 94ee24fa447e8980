"""Rates of one output per class over points, where components are the types.

Given a point x the outputs are jointly Gaussian: their means are φ(x)ᵀw̄_j and their covariances
φ(x)ᵀC_jlφ(x), with C_jl = Cov(ŵ_j, ŵ_l) by polarisation.
"""

from __future__ import annotations

import numpy as np

from onegrad.calculus.largest_gaussian import not_largest
from onegrad.describe.arrays import Floats
from onegrad.theory.classes_by_types import ClassesByTypes
from onegrad.theory.ridge_by_types import RidgeByTypes
from onegrad.theory.shared_covariance import SharedSpread

RULE_POINTS = 64  # for each point: what one misses, thousands average out


def class_rates(
    classes: ClassesByTypes, place: int, features: Floats, noise: float
) -> dict[str, float]:
    """Return the rates summed over one component's points, whose features are the columns.

    `noise` is the variance that all features have beside: w_jᵀw_l + Tr C_jl times as much of it is
    in the outputs.
    """
    first, target = classes.outputs[0], classes.targets[place]
    own = np.full(features.shape[1], classes.own[place])
    solved = first.response.solve(features)

    def form(solution: RidgeByTypes) -> Floats:
        assert isinstance(solution.spread, SharedSpread)
        known = solution.spread.forms(features, solution.force, solved=solved)
        return known + noise * solution.spread.trace(solution.force)

    def rate(shifts: list[Floats], reach: float) -> float:
        weights = np.array([o.mean + s for o, s in zip(classes.outputs, shifts, strict=True)])
        means = (weights @ features).T + reach * target
        covariances = spread + noise * weights @ weights.T
        return float(not_largest(means, covariances, own, points=RULE_POINTS).sum())

    spread = classes.covariances(form)
    return {
        "misclassification": rate([o.no_shift[place] for o in classes.outputs], 0.0),
        "train_misclassification": rate(
            [o.shift[place] for o in classes.outputs], float(first.reach[place])
        ),
    }
