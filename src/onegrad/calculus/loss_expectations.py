"""Expectations of a loss over Gaussian outputs.

Losses without kinks by the trapezoid rule on ±8 deviations, which converges exponentially; losses
with kinks by Gauss–Legendre panels that end at the kinks. A rule across a kink would jump as the
kink passes a node, and a fixed point that uses it would never settle.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from onegrad.calculus.function import gauss_legendre, normal_density
from onegrad.calculus.losses import NamedLoss
from onegrad.describe.numbers import Floats

REACH = 8.0  # deviations: what lies beyond has a probability of 1e−15
LARGEST_STEP = 0.3  # of the trapezoid rule, in deviations
PANEL_NODES, PANEL_SCALES = 32, 16.0  # a panel is at most so many of the loss's scale long
# Per type. Of outputs that need more the loss shows its corners alone: a step of h deviations is
# off by h²/30 of the mean at most, 5e−7 for h = 16/4000.
MOST_NODES = 4000
SMALLEST_DEVIATION = 1e-12
_BLOCK = 1 << 20  # nodes in memory


class GaussianResponse(NamedTuple):
    """E f, E f_u and E f² of f(u) = ℓ'(y, prox(u)), in the shape of the arguments."""

    mean: Floats
    slope: Floats
    square: Floats


class GaussianLosses(NamedTuple):
    """Loss, squared error and misclassification P(y·output < 0) at u (test) and prox(u) (train)."""

    test_loss: Floats
    test_mse: Floats
    test_misclassification: Floats
    train_loss: Floats
    train_mse: Floats
    train_misclassification: Floats


def gaussian_response(
    loss: NamedLoss, y: Any, mean: Any, *, variance: Any, gamma: Any
) -> GaussianResponse:
    """Return E f, E f_u and E f² over u ~ N(mean, variance), for arrays that broadcast."""
    shape, types = _types(y, mean, variance, gamma)
    sums = np.empty((3, types[0].size))
    for part, (label, a, v, g) in _blocks(loss, types):
        u, weights = output_rule(loss, label, a, variance=v, gamma=g)
        f, slope = loss.response(label[:, None], u, g[:, None])
        for row, values in enumerate((f, slope, f * f)):
            sums[row, part] = np.sum(weights * values, axis=-1)
    return GaussianResponse(*sums.reshape(3, *shape))


def gaussian_losses(
    loss: NamedLoss, y: Any, mean: Any, *, variance: Any, gamma: Any
) -> GaussianLosses:
    """Return what u ~ N(mean, variance) and prox(u) lose against y, for arrays that broadcast.

    prox rises with u, so that prox(u) < 0 where u < γℓ'(y, 0): misclassification is
    N(∓(a − γℓ'(y, 0))/√v) for labels of either sign. With γ = 0 both are the same.
    """
    shape, types = _types(y, mean, variance, gamma)
    label, a, v, g = types
    deviation, sign = np.maximum(np.sqrt(v), SMALLEST_DEVIATION), np.sign(label)
    wrong = np.abs(sign)  # a label of 0 has no sign to miss
    beside_zero = loss.derivative(label, -sign * 1e-300)  # on the wrong side, where ℓ' jumps
    sums = np.empty((3, label.size))
    for part, (y_, a_, v_, g_) in _blocks(loss, types):
        u, weights = output_rule(loss, y_, a_, variance=v_, gamma=np.zeros_like(g_))
        sums[0, part] = np.sum(weights * loss.value(y_[:, None], u), axis=-1)
        if not np.any(g_):
            sums[1, part], sums[2, part] = sums[0, part], (y_ - a_) ** 2 + v_
            continue
        u, weights = output_rule(loss, y_, a_, variance=v_, gamma=g_)
        x = loss.prox(y_[:, None], u, g_[:, None])
        sums[1, part] = np.sum(weights * loss.value(y_[:, None], x), axis=-1)
        sums[2, part] = np.sum(weights * (y_[:, None] - x) ** 2, axis=-1)
    columns = (
        sums[0],
        (label - a) ** 2 + v,
        wrong * ndtr(-sign * a / deviation),
        sums[1],
        sums[2],
        wrong * ndtr(-sign * (a - g * beside_zero) / deviation),
    )
    return GaussianLosses(*(column.reshape(shape) for column in columns))


def output_rule(
    loss: NamedLoss,
    y: Floats,
    mean: Floats,
    *,
    variance: Floats,
    gamma: Floats,
    turning: float = np.inf,
) -> tuple[Floats, Floats]:
    """Return nodes u and weights (types × nodes) for u ~ N(mean, variance), types in one axis.

    They integrate what is smooth but for the kinks of f; with gamma 0, but for those of ℓ itself.
    `turning` is the length in u over which another factor of the integrand turns.
    """
    scale = min(loss.scale, 0.5 * turning)
    deviation = np.maximum(np.sqrt(variance), SMALLEST_DEVIATION)
    kinks = loss.kinks(y, gamma)
    largest = float(np.max(deviation, initial=SMALLEST_DEVIATION))
    if kinks:
        cuts = [(np.broadcast_to(kink, mean.shape) - mean) / deviation for kink in kinks]
        z, weights = _panels(np.stack(cuts, axis=-1), scale / largest)
    else:
        step = min(LARGEST_STEP, max(scale / largest, 2 * REACH / MOST_NODES))
        half = int(np.ceil(REACH / step))
        z = step * np.arange(-half, half + 1)
        weights = step * normal_density(z)
    return mean[:, None] + deviation[:, None] * z, np.broadcast_to(
        weights, (len(mean), z.shape[-1])
    )


def _panels(cuts: Floats, scale: float) -> tuple[Floats, Floats]:
    """Return Gauss–Legendre nodes and weights of z ~ N(0, 1) between cuts (types × cuts)."""
    even = np.linspace(-REACH, REACH, _panel_count(scale) + 1)
    edges = np.concatenate(
        [np.clip(cuts, -REACH, REACH), np.broadcast_to(even, (len(cuts), even.size))], axis=-1
    )
    edges.sort(axis=-1)
    points, weights = gauss_legendre(PANEL_NODES)
    half = np.diff(edges, axis=-1)[..., None] / 2
    z = (edges[:, :-1, None] + half * (points + 1)).reshape(len(cuts), -1)
    return z, (half * weights).reshape(len(cuts), -1) * normal_density(z)


def _panel_count(scale: float) -> int:
    """Return how many panels of at most 16 scales (in deviations) cover ±8 deviations."""
    least = 2 * REACH * PANEL_NODES / MOST_NODES
    return int(np.ceil(2 * REACH / min(2 * REACH, max(PANEL_SCALES * scale, least))))


def _types(*values: Any) -> tuple[tuple[int, ...], tuple[Floats, ...]]:
    """Return the common shape of the arguments, and them as float64 in one axis."""
    arrays = np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in values))
    return arrays[0].shape, tuple(array.ravel() for array in arrays)


def _blocks(
    loss: NamedLoss, types: tuple[Floats, ...]
) -> Iterator[tuple[slice, tuple[Floats, ...]]]:
    """Yield types a few at a time, so that their nodes fit into memory."""
    largest = float(np.sqrt(np.max(types[2], initial=0.0)))
    nodes = min(MOST_NODES, 2 * REACH * (1 / LARGEST_STEP + largest / loss.scale))
    size = max(1, int(_BLOCK / (nodes + 3 * PANEL_NODES)))
    for start in range(0, types[0].size, size):
        part = slice(start, start + size)
        yield part, tuple(array[part] for array in types)
