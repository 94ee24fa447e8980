"""Fit a Gaussian mixture with low-rank covariances to labelled data.

Each class is clustered by k-means; each cluster becomes a component with its mean and the maximum
likelihood covariance of the form level·I + rank spikes (probabilistic PCA: Tipping & Bishop [7]).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh
from threadpoolctl import threadpool_limits

from onegrad.data.mixture import Gaussian
from onegrad.data.mixture_source import Component, MixtureSource
from onegrad.data.rows_files import labelled
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.extras import require_extra
from onegrad.describe.numbers import Array, Floats, whole_number

CANDIDATES = (1, 2, 4, 8, 16)
HELD_OUT = 0.25
CLUSTER_DIRECTIONS = 50  # in which distances between rows are measured
LEAST_LEVEL = 1e-9  # of the total variance per coordinate: duplicates would make it zero


def fit_mixture(
    inputs: ArrayLike,
    labels: ArrayLike,
    *,
    components_per_class: int | None = None,
    rank: int = 10,
    seed: int = 0,
) -> MixtureSource:
    """Return a mixture fitted to rows of `inputs`, one group of components per label.

    Without `components_per_class` the number among 1, 2, 4, 8 and 16 with the highest likelihood
    on a held-out quarter of the rows is taken. The components carry their labels, and strengths
    relative to a spread of 1; their covariances are those of probabilistic PCA [7].
    """
    whole_number("seed", seed, least=0)
    whole_number("rank", rank, least=0)
    if components_per_class is not None:
        whole_number("components_per_class", components_per_class, least=1)
    x, y = _checked(inputs, labels)
    parts = fit_gaussians(x, y, components=components_per_class, rank=rank, seed=seed)
    return MixtureSource(components=tuple(_component(part) for part in parts))


def fit_gaussians(
    x: Floats, y: Floats, *, components: int | None, rank: int, seed: int
) -> list[Gaussian]:
    """Return the fitted components, those of one label together; weights are shares of rows.

    One thread: sums in another order would give other bits.
    """
    if rank >= x.shape[1]:
        raise InvalidInput(f"rank={rank}: must be below the {x.shape[1]} features; lower it")
    with threadpool_limits(limits=1):
        count = _best_count(x, y, rank, seed) if components is None else components
        return _gaussians(x, y, count, rank, seed)


def log_likelihood(parts: Sequence[Gaussian], inputs: Floats, labels: Floats) -> float:
    """Return the mean log-density of rows given their labels, under components of that label."""
    total = 0.0
    for label in np.unique(labels):
        rows = inputs[labels == label]
        own_parts = [part for part in parts if part.label == label]
        weight = sum(part.weight for part in own_parts)
        logs = np.array([np.log(p.weight / weight) + _log_density(p, rows) for p in own_parts])
        top = logs.max(axis=0)
        total += float(np.sum(top + np.log(np.sum(np.exp(logs - top), axis=0))))
    return total / len(inputs)


def _log_density(part: Gaussian, rows: Floats) -> Floats:
    """Return log N(x; μ, level·I + Γ diag(θ) Γᵀ) of every row, in O(rows·n·rank)."""
    n = rows.shape[1]
    centred = rows if part.mean is None else rows - part.mean
    spikes = centred @ part.directions
    inside = part.strengths / (part.level + part.strengths)
    square = (np.sum(centred**2, axis=1) - np.sum(spikes**2 * inside, axis=1)) / part.level
    determinant = n * np.log(part.level) + np.sum(np.log1p(part.strengths / part.level))
    return -0.5 * (square + determinant + n * np.log(2 * np.pi))


def _checked(inputs: ArrayLike, labels: ArrayLike) -> tuple[Floats, Floats]:
    rows = labelled(inputs, labels)
    y = np.asarray(labels)
    if y.dtype.kind not in "iufb":
        raise InvalidInput(
            "labels: must be numbers, the components carry them; map texts to numbers first"
        )
    x = rows.inputs.astype(float, copy=False)
    with np.errstate(over="ignore"):
        variance = float(np.sum(np.var(x, axis=0)))
    if not variance > 0:
        raise InvalidInput("inputs: all rows are equal; there is nothing to fit")
    if not np.isfinite(variance):
        raise InvalidInput("inputs: their variance is not finite; bring them nearer to 1")
    return x, y.astype(float)


def _best_count(x: Floats, y: Floats, rank: int, seed: int) -> int:
    """Return the number of components per class with the highest held-out likelihood."""
    order = np.random.default_rng(seed).permutation(len(x))
    test = order[: int(HELD_OUT * len(x))]
    train = order[len(test) :]
    scores = {}
    for count in CANDIDATES:
        smallest = min(int(np.sum(y[train] == label)) for label in np.unique(y))
        if smallest < 2 * count:
            break
        parts = _gaussians(x[train], y[train], count, rank, seed)
        scores[count] = log_likelihood(parts, x[test], y[test]) if len(test) else 0.0
    if not scores or not len(test):
        raise InvalidInput(f"inputs: {len(x)} rows are too few to choose by; give more")
    return max(scores, key=lambda count: scores[count])


def _gaussians(x: Floats, y: Floats, count: int, rank: int, seed: int) -> list[Gaussian]:
    parts = []
    for label in np.unique(y):
        rows = x[y == label]
        if len(rows) < 2 * count:
            raise InvalidInput(
                f"components_per_class={count}: a class has only {len(rows)} rows; lower it"
            )
        groups = _clusters(rows, count, seed)
        # Of duplicates, or a single row: the class says how small a variance may be.
        least = LEAST_LEVEL * max(float(np.var(rows, axis=0).mean()), np.finfo(float).tiny)
        parts += [
            _gaussian(rows[groups == group], rank, len(x), float(label), least)
            for group in np.unique(groups)
        ]
    return parts


def _clusters(rows: Floats, count: int, seed: int) -> NDArray[np.integer]:
    """Return the cluster of every row, by k-means in the leading principal directions."""
    if count == 1:
        return np.zeros(len(rows), dtype=int)
    require_extra(f"clusters={count}", "data")
    from sklearn.cluster import KMeans  # late: it takes a second to import
    from sklearn.exceptions import ConvergenceWarning

    centred = rows - rows.mean(axis=0)
    if rows.shape[1] > CLUSTER_DIRECTIONS:
        centred = centred @ _principal(centred, CLUSTER_DIRECTIONS)[1]
    with warnings.catch_warnings():
        # Fewer distinct rows than clusters: there are fewer clusters then.
        warnings.simplefilter("ignore", ConvergenceWarning)
        clusters: NDArray[np.integer] = KMeans(count, n_init=2, random_state=seed).fit_predict(
            centred
        )
    return clusters


def _gaussian(rows: Floats, rank: int, total: int, label: float, least: float) -> Gaussian:
    """Return the cluster's mean and its covariance as level·I plus its largest directions."""
    size, n = rows.shape
    mean = rows.mean(axis=0)
    centred = rows - mean
    whole = float(np.sum(centred**2)) / size
    variances, directions = _principal(centred, min(rank, size - 1, n - 1))
    kept = len(variances)
    rest = max(whole - float(np.sum(variances)), 0.0) / (n - kept)
    level = max(rest, least)
    strengths = np.maximum(variances - level, 0.0)
    return Gaussian(size / total, mean, level, directions, strengths, label)


def _principal(centred: Floats, count: int) -> tuple[Floats, Floats]:
    """Return the largest variances and their directions, from the smaller of the two Gram matrices.

    Directions of variance zero are left out: there is nothing to tell them by.
    """
    size, n = centred.shape
    gram = centred.T @ centred if n <= size else centred @ centred.T
    side = len(gram)
    count = min(count, side)
    if not count:
        return np.zeros(0), np.zeros((n, 0))
    values, vectors = eigh(gram / size, subset_by_index=(side - count, side - 1))
    values, vectors = values[::-1], vectors[:, ::-1]
    known = values > LEAST_LEVEL * max(values[0], np.finfo(float).tiny)
    values, vectors = values[known], vectors[:, known]
    if n > size:
        vectors = np.linalg.qr(centred.T @ vectors)[0]
    return values, vectors


def _component(part: Gaussian) -> Component:
    return Component(
        weight=part.weight,
        mean=Array(part.mean),
        level=part.level,
        # Orthonormal to rounding, as a description asks for.
        directions=Array(np.linalg.qr(part.directions)[0]),
        strengths=tuple(part.strengths.tolist()),
        label=part.label,
    )
