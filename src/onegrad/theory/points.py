"""Errors that need more than types: averages over points drawn from the mixture, never from data.

Where spikes are too many for a grid, components are the types, and outputs are not Gaussian given a
component. Given a point x they are: u ~ N(φ(x)ᵀw̄, φ(x)ᵀCφ(x)) for a fresh ŵ, and any loss follows
from that. With one output per class the outputs are jointly Gaussian: their means are φ(x)ᵀw̄_j and
their covariances φ(x)ᵀC_jlφ(x), with C_jl = Cov(ŵ_j, ŵ_l) by polarisation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from onegrad.calculus.label_responses import Outputs, TypeLabels, losses, misclassified
from onegrad.calculus.largest_gaussian import not_largest
from onegrad.calculus.losses import NamedLoss, get_loss
from onegrad.describe.numbers import Floats
from onegrad.moments.feature_laws import FeatureMap, Points
from onegrad.theory.algebra import SharedCovariance, SharedSpread
from onegrad.theory.equations import ClassesByTypes, ConvexByTypes, RidgeByTypes

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


FEWEST_ROUNDS = 3
ENOUGH = 0.015  # standard error, relative, at which no more points are drawn


@dataclass(frozen=True)
class PointBlock:
    """Inputs (rows × n) of one component, with mean and variance of each label but for noise.

    `component` is its place in the mixture, `place` that among components of positive weight.
    """

    component: int
    place: int
    inputs: Floats
    expected: Floats
    variances: Floats


class Margins:
    """Averages over points for several solutions that share one algebra."""

    def __init__(
        self,
        algebra: SharedCovariance,
        feature_map: FeatureMap,
        first_layer: Floats,
        solutions: Sequence[RidgeByTypes | ConvexByTypes | ClassesByTypes],
    ) -> None:
        self.algebra, self.feature_map = algebra, feature_map
        self.first_layer, self.solutions = first_layer, solutions

    def averages(
        self, rounds: Iterator[list[PointBlock]], *, loss: str
    ) -> tuple[list[dict[str, float]], list[dict[str, float]]]:
        """Return every solution's averages, and their standard errors over rounds.

        Each round has every component with its share of points.
        """
        named = get_loss(loss)
        values: list[list[dict[str, float]]] = []
        for blocks in rounds:
            values.append(self._round(blocks, named))
            if len(values) >= FEWEST_ROUNDS and _precise(values):
                break
        means = [_over_rounds(values, i, _mean) for i in range(len(self.solutions))]
        errors = [_over_rounds(values, i, _standard_error) for i in range(len(self.solutions))]
        return means, errors

    def _round(self, blocks: list[PointBlock], loss: NamedLoss) -> list[dict[str, float]]:
        totals: list[dict[str, float]] = [{} for _ in self.solutions]
        count = sum(len(block.inputs) for block in blocks)
        for block in blocks:
            preactivations = block.inputs @ self.first_layer.T
            points = Points.of(self.feature_map, block.component, block.inputs, preactivations)
            features, noise = self.feature_map.predictions(points, self.algebra.axes)
            for total, solution in zip(totals, self.solutions, strict=True):
                sums = _sums(solution, block, features.T, float(np.max(noise)), loss)
                for name, value in sums.items():
                    total[name] = total.get(name, 0.0) + value / count
        return totals


def _sums(
    solution: RidgeByTypes | ConvexByTypes | ClassesByTypes,
    block: PointBlock,
    features: Floats,
    noise: float,
    loss: NamedLoss,
) -> dict[str, float]:
    """Return the sums over one block's points; `noise` is the variance of a unit weight's."""
    if isinstance(solution, ClassesByTypes):
        return class_rates(solution, block.place, features, noise)
    assert isinstance(solution.spread, SharedSpread)
    spread = solution.spread.forms(features, solution.force)
    trace = solution.spread.trace(solution.force)
    own = solution.labels
    labels = TypeLabels(
        weights=np.ones(len(block.expected)),
        components=np.zeros(len(block.expected)),
        means=block.expected,
        variances=block.variances + own.noise**2,
        binary=own.binary,
        noise=own.noise,
    )
    laws = []
    trained = np.full(len(block.expected), solution.reach[block.place])
    moved = solution.shift[block.place]
    for shift, reach in ((np.zeros_like(moved), np.zeros_like(trained)), (moved, trained)):
        weights = solution.mean + shift
        variance = spread + noise * (float(weights @ weights) + trace)
        variance = np.maximum(variance, 1e-300)
        laws.append(Outputs(features.T @ weights, variance, reach, np.zeros_like(reach)))
    return _metrics(labels, loss, *laws)


def _metrics(
    labels: TypeLabels, loss: NamedLoss, test: Outputs, train: Outputs
) -> dict[str, float]:
    if loss.name == "square":
        return {
            "misclassification": float(misclassified(labels, loss, test)[0].sum()),
            "train_misclassification": float(misclassified(labels, loss, train)[1].sum()),
        }
    fresh, seen = losses(labels, loss, test), losses(labels, loss, train)
    rates = {
        "misclassification": float(fresh.test_misclassification.sum()),
        "train_misclassification": float(seen.train_misclassification.sum()),
    }
    return {
        "test_mse": float(fresh.test_mse.sum()),
        "test_loss": float(fresh.test_loss.sum()),
        "train_mse": float(seen.train_mse.sum()),
        "train_loss": float(seen.train_loss.sum()),
        **(rates if labels.binary else {}),
    }


def _precise(values: list[list[dict[str, float]]]) -> bool:
    """Return whether all test errors are known well enough."""
    for i in range(len(values[0])):
        mean, error = _over_rounds(values, i, _mean), _over_rounds(values, i, _standard_error)
        if any(error[name] > ENOUGH * mean[name] for name in mean if "train" not in name):
            return False
    return True


def _over_rounds(
    values: list[list[dict[str, float]]], index: int, how: Callable[[list[float]], float]
) -> dict[str, float]:
    return {name: how([row[index][name] for row in values]) for name in values[0][index]}


def _mean(values: list[float]) -> float:
    return float(np.mean(values))


def _standard_error(values: list[float]) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.inf
