"""The algebra of types that share their covariance: Q, C and their traces from one reduction.

Covariances of types are Σ_t = τ_tS + δ_tI: what neurons have in common scales by a factor, and what
each has alone (its variance beyond degree 1) by another. Both are read off the traces of Σ_t, and
S = Σ̄ − δ̄I off their mean. Q = (λI + Σ_t pull_t M_t)^{-1} with M_t = Σ_t + ν_tν_tᵀ: in the basis
where S is tridiagonal, B a basis of all ν_t, ψ̃_t and c_t,

    R = (λ + Σ pull_tδ_t + zS)^{-1},  z = Σ pull_tτ_t,  E = RB,  G = BᵀE,  K = Σ pull_t n_tn_tᵀ
    W = K(I + GK)^{-1},  Q = R − EWEᵀ
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, eigh, eigvalsh_tridiagonal, qr, solveh_banded
from scipy.linalg.lapack import dormqr, dpstrf, dsytrd, dsytrd_lwork

from onegrad.calculus.type_labels import TypeLabels
from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import NotConverged, require_finite
from onegrad.theory.by_types import OutputLaw

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
