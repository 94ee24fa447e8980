"""The errors of the best constant: what a network must beat to have learnt anything."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onegrad.calculus.losses import NamedLoss, get_loss
from onegrad.core.instance import Instance, draw
from onegrad.core.problem import Problem
from onegrad.describe.numbers import Floats

MOST_DRAWS = 32  # of data and teacher over which the error is averaged
MOST_SAMPLED = 4  # draws of labels, if the error is not known from the mixture
LARGEST_DRAW = 2**30  # bytes of a mixture that is drawn for this alone
WIDEST = 30.0  # logistic loss of a constant is flat beyond, in the order of rounding


def best_constant(problem: Problem, *, seed: int = 0, trials: int = 1) -> dict[str, float]:
    """Return test_mse, misclassification and test_loss of the best constant output, as they exist.

    min_c E(y − c)² = Var y; the rarer label's probability; min_c E ℓ(y, c). Of outputs per class
    the mean over the outputs, and one minus the largest share. Means over the first draws of data
    and teacher; empty where a mixture is too large to be drawn for it, or E y² is not finite.
    """
    if problem.data.exact_moments and _drawn_bytes(problem) > LARGEST_DRAW:
        return {}
    most = MOST_DRAWS if problem.data.exact_moments else MOST_SAMPLED
    count = max(1, min(trials, most)) if problem.redraw == "all" else 1
    each = [_of_instance(draw(problem, seed=seed, trial=t)) for t in range(count)]
    means = {name: float(np.mean([part[name] for part in each])) for name in each[0]}
    return {name: value for name, value in means.items() if np.isfinite(value)}


def _drawn_bytes(problem: Problem) -> float:
    return 8.0 * problem.dimension * problem.data.theory_columns


def constant_of_labels(
    labels: Sequence[float],
    weights: Sequence[float],
    *,
    loss: str = "square",
    each_class: bool = False,
    flips: float = 0.0,
    noise: float = 0.0,
) -> dict[str, float]:
    """Return the errors of the best constant where parts of these weights have these labels.

    With `each_class`, of one constant per class, +1 for it against −1 for all others.
    """
    y, shares, named = np.asarray(labels, float), np.asarray(weights, float), get_loss(loss)
    kept = 1 - 2 * flips
    if each_class:
        parts = np.array([shares[y == label].sum() for label in np.unique(y)])
        means = kept * (2 * parts - 1)
        errors = {
            "test_mse": float(np.mean(1 - means**2)),
            "misclassification": float(1 - np.max((1 + means) / 2)),
        }
        if named.name != "square":
            least = [_least_loss(named, *_signs(float(mean))) for mean in means]
            errors["test_loss"] = float(np.mean(least))
        return errors
    mean = kept * float(shares @ y)
    errors = {"test_mse": float(shares @ y**2) + noise**2 - mean**2}
    if set(y.tolist()) <= {1.0, -1.0}:
        errors["misclassification"] = 0.5 * (1 - min(abs(mean), 1.0))
        if named.name != "square" and not noise:
            errors["test_loss"] = _least_loss(named, *_signs(mean))
    return errors


def _of_instance(instance: Instance) -> dict[str, float]:
    problem, population, teacher = instance.problem, instance.population, instance.teacher
    loss = get_loss(problem.readout.loss)
    if problem.teacher.reads_labels:
        errors = constant_of_labels(
            [label or 0.0 for label in population.labels],
            population.weights.tolist(),
            loss=loss.name,
            each_class=bool(problem.classes),
            flips=problem.teacher.flip_rate,
            noise=teacher.noise,
        )
    elif problem.data.exact_moments:
        mean, power = _moments(instance)
        errors = _of_moments(problem, loss, mean, power)
    else:
        drawn = instance.training_batch().labels
        errors = _of_moments(problem, loss, float(np.mean(drawn)), float(np.mean(drawn**2)))
    if loss.name != "square" and "test_loss" not in errors:
        drawn = instance.training_batch().labels
        errors["test_loss"] = _least_loss(loss, drawn, np.full(len(drawn), 1 / len(drawn)))
    return errors


def _moments(instance: Instance) -> tuple[float, float]:
    """Return E y and E y² over the mixture, NaN where they are not finite."""
    teacher, parts = instance.teacher, instance.mixture.components
    if not all(teacher.has_finite_power(part) for part in parts):
        return np.nan, np.nan
    mean = sum(part.weight * teacher.linear_part(part)[0] for part in parts)
    return mean, sum(part.weight * teacher.second_moment(part) for part in parts)


def _of_moments(problem: Problem, loss: NamedLoss, mean: float, power: float) -> dict[str, float]:
    errors = {"test_mse": power - mean**2}
    if problem.binary:
        errors["misclassification"] = 0.5 * (1 - min(abs(mean), 1.0))
        if loss.name != "square" and not problem.noisy:
            errors["test_loss"] = _least_loss(loss, *_signs(mean))
    return errors


def _signs(mean: float) -> tuple[Floats, Floats]:
    """Return the labels ±1 and their probabilities."""
    return np.array([1.0, -1.0]), np.array([1 + mean, 1 - mean]) / 2


def _least_loss(loss: NamedLoss, labels: Floats, shares: Floats) -> float:
    """Return min_c Σ shares·ℓ(labels, c)."""
    reach = WIDEST + float(np.max(np.abs(labels)))
    from scipy.optimize import minimize_scalar  # late: it takes half a second to import

    lowest = minimize_scalar(
        lambda c: float(shares @ loss.value(labels, np.full(len(labels), c))),
        bounds=(-reach, reach),
        method="bounded",
        options={"xatol": 1e-8},
    )
    return float(lowest.fun)
