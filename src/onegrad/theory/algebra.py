"""The algebra of types: Q, C = Cov ŵ, and their traces with the moments of every type.

Types t have weights p_t, features of mean ν_t and second moment M_t = Σ_t + ν_tν_tᵀ. An algebra
has Q = (λI + Σ_t pull_t M_t)^{-1}, C = Cov ŵ as a function of p_tχ_t, and their traces with M_t.

`SharedCovariance`: Σ_t = τ_tS + δ_tI. What neurons have in common scales by one factor, and what
each has alone (its variance beyond degree 1) by another. Both follow from the traces of Σ_t, and
S = Σ̄ − δ̄I from their mean. In the basis where S is tridiagonal, B a basis of all ν_t, ψ̃_t and c_t,

    R = (λ + Σ pull_tδ_t + zS)^{-1},  z = Σ pull_tτ_t,  E = RB,  G = BᵀE,  K = Σ pull_t n_tn_tᵀ
    W = K(I + GK)^{-1},  Q = R − EWEᵀ

`OwnCovariances`: features are heteroscedastic given the spikes, and every type has its own Σ_t. M_t
is never stored: only the Hermite coefficients a_q of each type, q ≤ 2, the correlations R off the
spikes, and the diagonal of what is left. Every Q costs one k × k inverse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.linalg import LinAlgError, eigh, eigvalsh_tridiagonal, qr, solveh_banded
from scipy.linalg.lapack import dormqr, dpotrf, dpotri, dpstrf, dsytrd, dsytrd_lwork

from onegrad.calculus.label_responses import TypeLabels
from onegrad.data.mixture import Mixture, exact_counts
from onegrad.data.teachers import Teacher, reads_one_projection
from onegrad.describe.exceptions import NotConverged, require_finite
from onegrad.describe.numbers import Floats
from onegrad.moments.dense import population_moments
from onegrad.moments.feature_laws import FeatureMap, Law, preactivation_laws
from onegrad.moments.label_moments import label_moments
from onegrad.theory.grid import Types

SMALLEST_PIVOT = 1e-13  # of a Gram matrix with ones on its diagonal
SMALLEST_SINGULAR = 1e-6  # of the types' means and labels, beside the largest


@dataclass(frozen=True)
class TypeMoments:
    """What theory knows of the types of one first layer and model; features are over √k.

    `covariance` is Σ̄ in Fortran order, which is lost when it is reduced; or, where `level` is
    given, the factor A (k × few) of Σ̄ = level·I + AAᵀ.
    """

    labels: TypeLabels
    means: Floats  # ν_t, T × k
    traces: Floats  # Tr Σ_t, T
    rests: Floats  # of which is each neuron's own, T
    covariance: Floats  # Σ̄, k × k, or A
    label_cross: Floats  # ψ̃_t = Cov(φ, y | t), T × k
    projection_cross: Floats | None = None  # c_t = Cov(φ, s | t), T × k
    level: float | None = None


class SharedCovariance:
    """The types with S in tridiagonal form, and all vectors in the span of ν_t, ψ̃_t and c_t.

    With `axes`, the columns of an orthogonal matrix of that name are the basis.
    """

    def __init__(
        self, types: TypeMoments, *, exact_counts: bool = True, axes: bool = False
    ) -> None:
        self.labels, self.exact_counts = types.labels, exact_counts
        vectors = [types.means, types.label_cross]
        vectors += [] if types.projection_cross is None else [types.projection_cross]
        scale = np.sqrt(types.labels.weights)[:, None]
        basis = _row_space(np.concatenate([scale * part for part in vectors]))
        inner = [part @ basis for part in vectors]
        self.means, self.label_cross = inner[0], inner[1]
        self.projection_cross = inner[2] if len(inner) > 2 else np.zeros_like(inner[0])
        matrix, extra, rank = types.covariance, 0, basis.shape[1]
        if types.level is not None:
            matrix, basis, extra = _within_span(types.covariance, types.level, basis)
        elif axes:
            basis = np.concatenate([basis, np.eye(len(basis))], axis=1)
        self.diagonal, self.beside, turned, values = _reduce_symmetric(matrix, basis)
        self.basis, self.axes = turned[:, :rank], turned[:, rank:].T
        self.size, self.neurons = len(self.diagonal), types.means.shape[1]
        self.counts = np.append(np.ones(len(values)), float(extra))  # of every eigenvalue
        self._divide(types, np.append(values, types.level or 0.0))
        components = types.labels.components
        self.places = [np.flatnonzero(components == c) for c in np.unique(components)]

    def _divide(self, types: TypeMoments, eigenvalues: Floats) -> None:
        """Set τ_t, δ_t and S; no more is taken off Σ̄ than leaves S positive."""
        weights, own = types.labels.weights, types.rests / self.neurons
        mean, least = float(weights @ own), float(np.min(eigenvalues[self.counts > 0]))
        share = min(1.0, least / mean) if mean > 0 else 0.0
        self.floors, floor = share * own, share * mean
        common = types.traces - self.neurons * self.floors
        total = float(weights @ common)
        self.factors: Floats = common / total if total > 0 else np.ones_like(common)
        self.diagonal = self.diagonal - floor
        self.eigenvalues = np.maximum(eigenvalues - floor, 0.0)

    def times(self, vectors: Floats) -> Floats:
        """Return S times vectors (k or k × any), in the tridiagonal basis."""
        out = (vectors.T * self.diagonal).T
        out[:-1] += (vectors[1:].T * self.beside).T
        out[1:] += (vectors[:-1].T * self.beside).T
        return out

    def respond(self, pull: Floats, ridge: float) -> SharedResponse:
        """Return Q."""
        return SharedResponse(self, pull, ridge)

    def law(self, c: int, weights: Floats) -> OutputLaw:
        """Return the law of u of one component's types."""
        place, along = self.places[c], self.basis.T @ weights
        return OutputLaw(
            self.means[place] @ along,
            self.factors[place] * float(weights @ self.times(weights))
            + self.floors[place] * float(weights @ weights),
            self.label_cross[place] @ along,
            self.projection_cross[place] @ along,
        )

    def combined(
        self,
        c: int,
        means: Floats,
        *,
        label: Floats | None = None,
        projection: Floats | None = None,
    ) -> Floats:
        """Return Σ means_t ν_t + label_t ψ̃_t + projection_t c_t over one component's types."""
        place = self.places[c]
        inner = means @ self.means[place]
        if label is not None:
            inner += label @ self.label_cross[place]
        if projection is not None:
            inner += projection @ self.projection_cross[place]
        return self.basis @ inner

    def covariances_times(self, c: int, factors: Floats, weights: Floats) -> Floats:
        """Return Σ factors_t Σ_t w over one component's types."""
        place = self.places[c]
        common = float(factors @ self.factors[place]) * self.times(weights)
        return common + float(factors @ self.floors[place]) * weights


def _reduce_symmetric(matrix: Floats, vectors: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return diagonal and off-diagonal of T with M = QTQᵀ, Qᵀ times the columns, eigenvalues.

    `matrix` is positive semi-definite, and overwritten if it is in Fortran order.
    """
    size = len(matrix)
    require_finite("the features", {"second moment": matrix, "correlation with y": vectors})
    if size == 1:
        diagonal = matrix[0].copy()
        return diagonal, np.zeros(0), vectors.copy(), np.maximum(diagonal, 0.0)
    work = int(dsytrd_lwork(size, lower=1)[0])
    factors, diagonal, beside, tau, _ = dsytrd(matrix, lower=1, lwork=work, overwrite_a=1)
    rotated = vectors.copy()
    # The reflectors below the subdiagonal act on all coordinates but the first.
    rotated[1:] = dormqr("L", "T", factors[1:, :-1], tau, rotated[1:], size * 64)[0]
    eigenvalues = np.maximum(eigvalsh_tridiagonal(diagonal, beside), 0.0)
    return diagonal, beside, rotated, eigenvalues


def _forms(rows: Floats, matrix: Floats) -> Floats:
    """Return rᵀMr for every row r."""
    return np.sum((rows @ matrix) * rows, axis=1)


def _trace(
    whole: float, weight: Floats, cross: Floats, left: Floats, right: Floats | None = None
) -> float:
    """Return Tr(XQYQ) with Q = R − EWEᵀ from Tr(XRYR), EᵀXRYE, WEᵀXE and WEᵀYE."""
    last = left if right is None else right
    return float(whole) - 2 * float(np.sum(weight * cross)) + float(np.sum(left * last.T))


def _row_space(rows: Floats) -> Floats:
    """Return an orthonormal basis (k × d) of the rows, but for what is smaller than all matters."""
    count, k = rows.shape
    wide = count < k
    gram = rows @ rows.T if wide else rows.T @ rows
    require_finite("the features", {"second moment": np.trace(gram)})
    least = SMALLEST_SINGULAR**2 * float(np.trace(gram))
    values, vectors = eigh(gram, subset_by_value=(least, np.inf), check_finite=False)
    basis = (vectors.T @ rows / np.sqrt(values)[:, None]).T if wide else vectors
    # Of a Gram matrix small vectors come out less orthogonal than they should be.
    return np.asarray(qr(basis, mode="economic", check_finite=False)[0])


def _within_span(factor: Floats, level: float, basis: Floats) -> tuple[Floats, Floats, int]:
    """Return Σ̄ and the basis in the span U of both, and how many eigenvalues are outside.

    With [A, B] = UR the matrix there is level·I + R_A R_Aᵀ; outside, Σ̄ is level·I. R comes from the
    Gram matrix by Cholesky with pivots, which leaves out what is dependent.
    """
    size = factor.shape[1]
    gram = np.empty((size + basis.shape[1],) * 2, order="F")
    gram[:size, :size] = factor.T @ factor
    gram[:size, size:] = factor.T @ basis
    gram[size:, :size] = gram[:size, size:].T
    gram[size:, size:] = np.eye(basis.shape[1])
    scale = np.sqrt(np.maximum(np.diagonal(gram), 1e-300))  # columns of one length
    upper, pivots, rank, _ = dpstrf(gram / scale / scale[:, None], tol=SMALLEST_PIVOT)
    root = np.zeros((rank, len(gram)))
    root[:, pivots - 1] = np.triu(upper)[:rank]
    root *= scale
    inside = np.asfortranarray(root[:, :size] @ root[:, :size].T)
    inside[np.diag_indices(rank)] += level
    return inside, root[:, size:], len(factor) - rank


class SharedResponse:
    """Q = (λI + Σ pull_t M_t)^{-1} = R − E W Eᵀ, and its traces with M_t."""

    def __init__(self, reduced: SharedCovariance, pull: Floats, ridge: float) -> None:
        r = reduced
        scale, shift = float(pull @ r.factors), ridge + float(pull @ r.floors)
        bands = np.zeros((2, len(r.diagonal)))
        bands[0] = shift + scale * r.diagonal
        bands[1, :-1] = scale * r.beside
        self.bands, self.reduced = bands, r
        self.inner = self.banded(r.basis)  # E
        self.gram = r.basis.T @ self.inner  # G
        kernel = (r.means.T * pull) @ r.means  # K
        size = np.eye(len(kernel))
        self.weight = kernel @ np.linalg.inv(size + self.gram @ kernel)  # W
        self.weight = (self.weight + self.weight.T) / 2
        self.times_inner = r.times(self.inner)
        self.form = self.inner.T @ self.times_inner  # EᵀSE
        self.plain = self.inner.T @ self.inner  # EᵀE
        self.values = 1 / (shift + scale * r.eigenvalues)
        common = float((r.counts * r.eigenvalues) @ self.values)
        common -= float(np.sum(self.weight * self.form))
        own = float(r.counts @ self.values) - float(np.sum(self.weight * self.plain))
        left = self.gram - self.gram @ self.weight @ self.gram
        self.reach: Floats = r.factors * common + r.floors * own + _forms(r.means, left)

    def banded(self, right: Floats) -> Floats:
        """Return R times vectors."""
        if len(self.bands[0]) == 1:  # LAPACK wants two
            return right / self.bands[0, 0]
        try:
            return solveh_banded(self.bands, right, lower=True, check_finite=False)
        except LinAlgError:
            raise NotConverged(
                "types: the covariance is singular to rounding; raise the ridge"
            ) from None

    def solve(self, right: Floats) -> Floats:
        """Return Q times a vector."""
        return self.banded(right) - self.inner @ (self.weight @ (self.inner.T @ right))

    def spread(self, samples: int, *, shares: Floats, shift: Floats) -> SharedSpread:
        """Return C."""
        return SharedSpread(self, samples, shares=shares, shift=shift)


class SharedSpread:
    """C = Cov ŵ as a function of p_tχ_t: its traces with M_t and I.

    `fixed` is what exact counts take off every Tr(M_tC), whatever the errors.
    """

    def __init__(
        self, response: SharedResponse, samples: int, *, shares: Floats, shift: Floats
    ) -> None:
        r, q, self.samples = response.reduced, response, samples
        self.reduced, self.response = r, response
        size = np.eye(len(q.weight)) - q.weight @ q.gram
        self.along, self.plain = size.T @ q.form @ size, size.T @ q.plain @ size
        self.projected = q.gram @ size
        ratio, counts = r.eigenvalues * q.values, r.counts
        solved, turned = q.banded(q.inner), q.banded(q.times_inner)
        common, own = q.weight @ q.form, q.weight @ q.plain
        # Tr(SQSQ), Tr(SQ²) and Tr(Q²)
        self.second = _trace(counts * ratio @ ratio, q.weight, q.times_inner.T @ turned, common)
        self.first = _trace(
            counts * ratio @ q.values, q.weight, q.times_inner.T @ solved, common, own
        )
        self.zeroth = _trace(counts * q.values @ q.values, q.weight, q.inner.T @ solved, own)
        self.moved = moved = samples * np.sqrt(shares)[:, None] * shift  # √ρ_c Qe_c
        self.taken = float(np.sum(moved**2))
        parts = moved @ r.basis
        fixed = r.factors * float(np.sum(moved.T * r.times(moved.T))) + r.floors * self.taken
        fixed += np.sum((r.means @ parts.T) ** 2, axis=1)
        self.fixed: Floats = -fixed / self.samples

    def _sums(self, force: Floats) -> tuple[float, float, Floats]:
        """Return Σ force_tτ_t, Σ force_tδ_t and Σ force_t n_tn_tᵀ."""
        r = self.reduced
        return float(force @ r.factors), float(force @ r.floors), (r.means.T * force) @ r.means

    def variances(self, force: Floats) -> Floats:
        """Return Tr(M_tC) without `fixed`, for force_t = p_tχ_t."""
        r = self.reduced
        common, own, kernel = self._sums(force)
        covariance = common * self.second + own * self.first + float(np.sum(kernel * self.along))
        shared = common * self.along + own * self.plain
        shared += self.projected @ kernel @ self.projected.T
        plain = self._plain_trace(force)
        return (r.factors * covariance + r.floors * plain + _forms(r.means, shared)) / self.samples

    def _plain_trace(self, force: Floats) -> float:
        common, own, kernel = self._sums(force)
        return common * self.first + own * self.zeroth + float(np.sum(kernel * self.plain))

    def trace(self, force: Floats) -> float:
        """Return Tr C."""
        return (self._plain_trace(force) - self.taken) / self.samples

    def forms(self, vectors: Floats, force: Floats, *, solved: Floats | None = None) -> Floats:
        """Return vᵀCv for the columns v, in the tridiagonal basis; `solved` is QV if known."""
        r = self.reduced
        if solved is None:
            solved = self.response.solve(vectors)
        common, own, kernel = self._sums(force)
        inner = r.basis.T @ solved
        total = np.sum(solved * (common * r.times(solved) + own * solved), axis=0)
        total += np.sum(inner * (kernel @ inner), axis=0) - np.sum(
            (self.moved @ vectors) ** 2, axis=0
        )
        return np.maximum(total, 0.0) / self.samples


SMALLEST_DIRECTION = 1e-6
CHECKED_ROWS = 64
LEAST_DIMENSION = 500
STRUCTURED_FROM = 1.2  # k/n from which the n×n reduction is tried first
# Left-out variance per row over d². Up to it, at n from 700, test errors move by .03 % at m = n,
# λ = 1e−4, and by at most .35 % for m from n/3 to 10n and λ from 1e−6 to .1, training errors by
# .9 %.
LARGEST_REMAINDER = 0.02


def grid_labels(types: list[Types], teacher: Teacher, *, binary: bool) -> TypeLabels:
    """Return the labels of all components' types."""
    weights = np.concatenate([own.weights for own in types])
    means = np.concatenate([own.label_mean for own in types])
    power = np.concatenate([own.label_power for own in types])
    counts = [len(own.weights) for own in types]
    centres = [own.centres for own in types if own.centres is not None]
    read = len(centres) == len(types)
    return TypeLabels(
        weights=weights,
        components=np.repeat(np.arange(float(len(types))), counts),
        means=means,
        variances=np.maximum(power - means**2, 0.0),
        binary=binary,
        noise=teacher.noise,
        centres=np.concatenate(centres) if read else None,
        deviations=np.repeat([own.deviation for own in types], counts) if read else None,
        teacher=teacher if reads_one_projection(teacher) else None,
    )


def grid_moments(types: list[Types], labels: TypeLabels) -> TypeMoments:
    """Return the moments of all components' types, their covariances brought to one."""
    root = np.sqrt(types[0].rest.shape[1])
    structure = low_rank_covariance(types)
    covariance, level = (dense_covariance(types), None) if structure is None else structure
    rests = [np.sum(own.coefficients[2:] ** 2, axis=(0, 2)) + own.rest.sum(axis=1) for own in types]
    means = np.concatenate([own.coefficients[0] for own in types]) / root
    label = np.concatenate([own.label for own in types]) / root
    projections = [own.projection for own in types if own.projection is not None]
    return TypeMoments(
        labels=labels,
        means=means,
        traces=np.concatenate([feature_variances(own).mean(axis=1) for own in types]),
        rests=np.concatenate(rests) / root**2,
        covariance=covariance,
        label_cross=label - labels.means[:, None] * means,
        projection_cross=np.concatenate(projections) / root if projections else None,
        level=level,
    )


def feature_variances(types: Types) -> Floats:
    """Return Var(φ_i | t) of every type and neuron, T × k."""
    return np.sum(types.coefficients[1:] ** 2, axis=0) + types.rest


def unevenness(types: list[Types]) -> float:
    """Return how far types are from one covariance up to a factor, seen on its diagonal.

    The deviation of Var(φ_i | t)/τ_t from its mean over types, relative, weighted by p_tτ_t.
    """
    weights = np.concatenate([own.weights for own in types])
    variances = np.concatenate([feature_variances(own) for own in types])
    shared = weights @ variances
    factors = variances.sum(axis=1) / shared.sum()
    apart = np.sum((variances - factors[:, None] * shared) ** 2, axis=1)
    return float(np.sqrt(weights @ apart / np.sum(shared**2)))


def dense_covariance(types: list[Types]) -> Floats:
    """Return Σ̄ = Σ_t p_tΣ_t, k × k."""
    k = types[0].rest.shape[1]
    covariance = np.zeros((k, k), order="F")
    for own in types:
        p, a = own.weights, own.coefficients
        for q, power in enumerate(own.correlations, start=1):
            covariance += power * ((a[q].T * p) @ a[q])
        covariance[np.diag_indices(k)] += p @ own.rest
    return covariance / k


def low_rank_covariance(types: list[Types]) -> tuple[Floats, float] | None:
    """Return A and level of Σ̄ ≈ level·I + AAᵀ for wide networks, None where that does not hold.

    A has the bulk of degree 1, one column per component for degree 2, and few more rows of types.
    What is left out is measured on sampled rows.
    """
    k, n = types[0].rows.shape
    if n < LEAST_DIMENSION or k <= STRUCTURED_FROM * n:
        return None
    columns = [_bulk(types)]
    picked = np.sort(np.random.default_rng(0).choice(k, min(CHECKED_ROWS, k), replace=False))
    own = (np.arange(len(picked)), picked)
    exact = np.zeros((len(picked), k))
    diagonal = np.zeros(k)
    for part in types:
        p, a = part.weights, part.coefficients
        correlation = part.rows[picked] @ part.rows.T
        correlation[own] = 0
        exact += correlation * ((a[1][:, picked].T * p) @ a[1])
        exact += correlation**2 * ((a[2][:, picked].T * p) @ a[2])
        diagonal += p @ (np.sum(a[1:] ** 2, axis=0) + part.rest)
        mean_square = float(np.sum(correlation**2)) / (correlation.size - len(picked))
        _, sizes, right = np.linalg.svd(np.sqrt(p)[:, None] * a[2], full_matrices=False)
        columns.append((np.sqrt(mean_square) * sizes[0] * right[0])[:, None])
    factor = np.concatenate(columns, axis=1)
    left = diagonal - np.einsum("ij,ij->i", factor, factor)
    level = float(left.mean())
    exact -= factor[picked] @ factor.T
    exact[own] = left[picked] - level
    remainder = float(np.mean(np.sum(exact**2, axis=1))) / level**2 if level > 0 else np.inf
    if remainder > LARGEST_REMAINDER:
        return None
    return factor / np.sqrt(k), level / k


def _bulk(types: list[Types]) -> Floats:
    """Return the columns of degree 1: ᾱ ∘ F̂ off all conditioned directions, and along each.

    A component is conditioned on its own directions alone: along those of the others its features
    have columns of their own.
    """
    k = types[0].rows.shape[0]
    union, sizes, _ = np.linalg.svd(
        np.concatenate([part.basis for part in types], axis=1), full_matrices=False
    )
    union = union[:, sizes > SMALLEST_DIRECTION]
    power, signed, columns = np.zeros(k), np.zeros(k), []
    for part in types:
        p, slopes = part.weights, part.coefficients[1]
        power += p @ slopes**2
        signed += p @ slopes
        along = part.rows @ union
        _, values, right = np.linalg.svd(np.sqrt(p)[:, None] * slopes, full_matrices=False)
        columns.append((values[0] * right[0])[:, None] * along)
    first = types[0].rows - (types[0].rows @ union) @ union.T
    common = (np.sqrt(power) * np.sign(signed))[:, None] * first
    return np.concatenate([common, *columns], axis=1)


def component_moments(
    mixture: Mixture,
    teacher: Teacher,
    first_layer: Floats,
    feature_map: FeatureMap,
    *,
    binary: bool,
) -> TypeMoments:
    """Return the moments of components as types."""
    wide = first_layer.astype(np.float64, copy=False)
    whole = population_moments(mixture, teacher, wide, feature_map)
    laws = preactivation_laws(mixture, teacher, wide)
    k = len(wide)
    weights = np.array([law.gaussian.weight for law in laws])
    coefficients = np.array([feature_map.coefficients(law, 1) for law in laws]) / np.sqrt(k)
    means, slopes = coefficients[:, 0], coefficients[:, 1]
    noise = feature_map.noise_variance
    powers = [np.sum(feature_map.second_moment(law) + noise) / k for law in laws]
    traces = np.array(powers) - np.sum(means**2, axis=1)
    label = np.array([label_moments(feature_map, law, wide, teacher) for law in laws]) / np.sqrt(k)
    label_means = np.array([teacher.linear_part(law.gaussian)[0] for law in laws])
    power = np.array([teacher.second_moment(law.gaussian) for law in laws])
    covariance = whole.covariance - (means.T * weights) @ means
    labels = TypeLabels(
        weights=weights,
        components=np.arange(len(laws), dtype=float),
        means=label_means,
        variances=np.maximum(power - label_means**2, 0.0),
        binary=binary,
        noise=teacher.noise,
        teacher=teacher if reads_one_projection(teacher) else None,
    )
    read = _projections(laws, teacher, feature_map) if labels.teacher is not None else None
    if read is not None:
        labels = replace(labels, centres=read[0], deviations=read[1])
    return TypeMoments(
        labels=labels,
        means=means,
        traces=traces,
        rests=np.maximum(traces - np.sum(slopes**2, axis=1), 0.0),
        covariance=np.asfortranarray(covariance),
        label_cross=label - label_means[:, None] * means,
        projection_cross=None if read is None else read[2] / np.sqrt(k),
    )


def _projections(
    laws: list[Law], teacher: Teacher, feature_map: FeatureMap
) -> tuple[Floats, Floats, Floats]:
    """Return mean and deviation of s = ξᵀx in every component, and Cov(φ, s) by Stein's lemma."""
    xi = teacher.directions[:, 0]
    means = [0.0 if law.gaussian.mean is None else float(xi @ law.gaussian.mean) for law in laws]
    deviations = [np.sqrt(law.gaussian.projected_variance(teacher.directions)) for law in laws]
    cross = []
    for law, deviation in zip(laws, deviations, strict=True):
        slope = feature_map.coefficients(law, 1)[1]  # a_1, beside a standardised pre-activation
        cross.append(slope * law.target[:, 0] / law.deviations * deviation)
    return np.array(means), np.array(deviations), np.array(cross)


class OwnCovariances:
    """All types together: weighted sums of M_t, and traces of M_t with a matrix."""

    def __init__(
        self, types: list[Types], labels: TypeLabels, *, exact_counts: bool = True
    ) -> None:
        self.types, self.labels, self.exact_counts = types, labels, exact_counts
        self.size = self.neurons = types[0].rest.shape[1]
        ends = np.cumsum([0, *(len(own.weights) for own in types)])
        self.places = [np.arange(first, last) for first, last in pairwise(ends)]

    def respond(self, pull: Floats, ridge: float) -> OwnResponse:
        """Return Q."""
        return OwnResponse(self, pull, ridge)

    def total(self, factors: Floats) -> Floats:
        """Return Σ_t factors_t M_t, k × k."""
        out = np.zeros((self.size, self.size))
        for types, place in zip(self.types, self.places, strict=True):
            a, part = types.coefficients, factors[place]
            out += (a[0].T * part) @ a[0]
            for q, power in enumerate(types.correlations, start=1):
                out += power * ((a[q].T * part) @ a[q])
            out[np.diag_indices(self.size)] += part @ types.rest
        return out / self.size

    def traces(self, matrix: Floats) -> Floats:
        """Return Tr(M_t matrix) for every type; the matrix is symmetric."""
        traces = []
        for types in self.types:
            a = types.coefficients
            value = types.rest @ np.diagonal(matrix) + np.sum((a[0] @ matrix) * a[0], axis=1)
            for q, power in enumerate(types.correlations, start=1):
                value += np.sum((a[q] @ (power * matrix)) * a[q], axis=1)
            traces.append(value)
        return np.concatenate(traces) / self.size

    def law(self, c: int, weights: Floats) -> OutputLaw:
        """Return the law of u of one component's types."""
        types, root = self.types[c], np.sqrt(self.size)
        a = types.coefficients
        variance = types.rest @ weights**2
        for q, power in enumerate(types.correlations, start=1):
            scaled = a[q] * weights
            variance = variance + np.sum((scaled @ power) * scaled, axis=1)
        mean = a[0] @ weights / root
        cross = types.label @ weights / root - types.label_mean * mean
        none = np.zeros_like(mean)
        along = none if types.projection is None else types.projection @ weights / root
        return OutputLaw(mean, variance / self.size, cross, along)

    def combined(
        self,
        c: int,
        means: Floats,
        *,
        label: Floats | None = None,
        projection: Floats | None = None,
    ) -> Floats:
        """Return Σ means_t ν_t + label_t ψ̃_t + projection_t c_t over one component's types."""
        types = self.types[c]
        factors, total = means, np.zeros(self.size)
        if label is not None:
            factors = factors - label * types.label_mean
            total += label @ types.label
        if projection is not None and types.projection is not None:
            total += projection @ types.projection
        return (total + factors @ types.coefficients[0]) / np.sqrt(self.size)

    def covariances_times(self, c: int, factors: Floats, weights: Floats) -> Floats:
        """Return Σ factors_t Σ_t w over one component's types."""
        types = self.types[c]
        total = (factors @ types.rest) * weights
        for q, power in enumerate(types.correlations, start=1):
            a = types.coefficients[q]
            total += factors @ (a * ((a * weights) @ power))
        return total / self.size


class OwnResponse:
    """Q = (λI + Σ pull_t M_t)^{-1}, and its traces with M_t."""

    def __init__(self, types: OwnCovariances, pull: Floats, ridge: float) -> None:
        self.types, matrix = types, types.total(pull)
        matrix[np.diag_indices(types.size)] += ridge
        self.matrix = _inverse(matrix)
        self.reach: Floats = types.traces(self.matrix)

    def solve(self, right: Floats) -> Floats:
        """Return Q times a vector."""
        return self.matrix @ right

    def spread(self, samples: int, *, shares: Floats, shift: Floats) -> OwnSpread:
        """Return C."""
        return OwnSpread(self, samples, shares=shares, shift=shift)


class OwnSpread:
    """C = Cov ŵ as a function of p_tχ_t."""

    def __init__(
        self, response: OwnResponse, samples: int, *, shares: Floats, shift: Floats
    ) -> None:
        types = response.types
        self.types, self.response, self.samples = types, response, samples
        moved = samples * np.sqrt(shares)[:, None] * shift  # √ρ_c Qe_c
        self.taken = float(np.sum(moved**2))
        self.fixed: Floats = np.zeros(len(types.labels.weights))
        for row in moved:
            for c, place in enumerate(types.places):
                law = types.law(c, row)
                self.fixed[place] -= (law.variance + law.mean**2) / samples
        self._force: Floats | None = None

    def variances(self, force: Floats) -> Floats:
        """Return Tr(M_tC) without `fixed`."""
        return self.types.traces(self._matrix(force)) / self.samples

    def trace(self, force: Floats) -> float:
        """Return Tr C."""
        return (float(np.trace(self._matrix(force))) - self.taken) / self.samples

    def _matrix(self, force: Floats) -> Floats:
        if self._force is None or not np.array_equal(force, self._force):
            q = self.response.matrix
            self._last, self._force = q @ self.types.total(force) @ q, force.copy()
        return self._last


def _inverse(matrix: Floats) -> Floats:
    factor, info = dpotrf(matrix, lower=1, overwrite_a=1)
    if info != 0:
        raise NotConverged("types: the covariance is singular to rounding; raise the ridge")
    lower, _ = dpotri(factor, lower=1, overwrite_c=1)
    full = np.tril(lower)
    return full + np.tril(full, -1).T


TOLERANCE, MOST_ITERATIONS = 1e-9, 500


@dataclass(frozen=True)
class OutputLaw:
    """u = φᵀw of types for weights w: mean, variance without that of ŵ, ψ̃ᵀw and cᵀw.

    ψ̃_t = Cov(φ, y | t) and c_t = Cov(φ, s | t), s the teacher's projection.
    """

    mean: Floats
    variance: Floats
    label: Floats
    projection: Floats


Response = SharedResponse | OwnResponse  # Q = (λI + Σ pull_t M_t)^{-1}
TypeAlgebra = SharedCovariance | OwnCovariances  # vectors and matrices of types, in some basis


class ByTypes:
    """Training weights, forces of exact counts and laws of u, for one m and λ."""

    def __init__(self, algebra: TypeAlgebra, samples: int, ridge: float) -> None:
        self.algebra, self.samples, self.ridge = algebra, samples, ridge
        self.labels, self.exact = algebra.labels, algebra.exact_counts
        plain = self.labels.weights
        self.weights = training_weights(self.labels, samples) if self.exact else plain
        self.places = algebra.places
        self.shares = np.array([self.weights[place].sum() for place in self.places])
        self.no_shift: Floats = np.zeros((len(self.places), algebra.size))

    def law(self, mean: Floats, shift: Floats) -> OutputLaw:
        """Return the law of u for w = w̄ + d_c; no shift is that of a test point."""
        parts = [self.algebra.law(c, mean + moved) for c, moved in enumerate(shift)]
        out = []
        for name in ("mean", "variance", "label", "projection"):
            whole = np.empty(len(self.weights))
            for place, part in zip(self.places, parts, strict=True):
                whole[place] = getattr(part, name)
            out.append(whole)
        return OutputLaw(*out)

    def total(
        self, means: Floats, *, label: Floats | None = None, projection: Floats | None = None
    ) -> Floats:
        """Return Σ means_t ν_t + label_t ψ̃_t + projection_t c_t over all types."""
        return np.sum(
            [
                self.algebra.combined(
                    c,
                    means[place],
                    label=None if label is None else label[place],
                    projection=None if projection is None else projection[place],
                )
                for c, place in enumerate(self.places)
            ],
            axis=0,
        )

    def shifts(self, response: Response, forces: Sequence[Floats]) -> Floats:
        """Return d_c = Qe_c/m for e_c times ρ_c; one for all where counts are sampled."""
        if not self.exact:
            whole = response.solve(np.sum(forces, axis=0)) / self.samples
            return np.repeat(whole[None], len(forces), axis=0)
        safe = np.where(self.shares > 0, self.shares, 1.0)
        return np.array(
            [
                response.solve(force / share) / self.samples if used else np.zeros_like(force)
                for force, share, used in zip(forces, safe, self.shares > 0, strict=True)
            ]
        )

    def pulled(self, pull: Floats, shift: Floats) -> Floats:
        """Return Σ_c Σ_{t∈c} pull_t M_t d_c."""
        total = np.zeros(self.algebra.size)
        for c, (place, moved) in enumerate(zip(self.places, shift, strict=True)):
            if np.any(moved):
                own = pull[place]
                total += self.algebra.covariances_times(c, own, moved)
                total += self.algebra.combined(c, own * self.algebra.law(c, moved).mean)
        return total


def require_converged(
    what: str, residual: float, iterations: int, *, tolerance: float = TOLERANCE
) -> None:
    """Raise NotConverged where a residual is above the tolerance."""
    if not residual <= tolerance:
        raise NotConverged(
            f"types: the {what} changes by {residual:.1e} after {iterations} iterations; raise the "
            "ridge"
        )


def training_weights(labels: TypeLabels, samples: int) -> Floats:
    """Return p_t with the components' shares rounded to whole numbers of samples."""
    names = np.unique(labels.components)
    shares = np.array([labels.weights[labels.components == c].sum() for c in names])
    counts = np.asarray(exact_counts(shares, samples)) / samples
    factor = dict(zip(names.tolist(), (counts / shares).tolist(), strict=True))
    return labels.weights * np.array([factor[c] for c in labels.components.tolist()])
