"""The algebra of types that share their covariance: Q, C and their traces from one reduction.

Q = (λI + Σ_t pull_t M_t)^{-1} with M_t = τ_tΣ̄ + ν_tν_tᵀ. In the basis where Σ̄ is tridiagonal, B a
basis of all ν_t and ψ̃_t, R = (λ + zΣ̄)^{-1}, z = Σ pull_tτ_t, E = RB, G = BᵀE, K = Σ pull_t n_tn_tᵀ,
W = K(I + GK)^{-1}: Q = R − EWEᵀ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, qr, solveh_banded

from onegrad.data.counts import exact_counts
from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import NotConverged
from onegrad.theory.reduced_moments import reduce_symmetric

SMALLEST_SINGULAR = 1e-6  # of the types' means and labels, beside the largest
TOLERANCE, MOST_ITERATIONS = 1e-9, 500


@dataclass(frozen=True)
class TypeMoments:
    """What theory knows of the types of one first layer and model; features are over √k.

    `covariance` is Σ̄ in Fortran order, which is lost when it is reduced; or, where `level` is
    given, the factor A (k × few) of Σ̄ = level·I + AAᵀ.
    """

    weights: Floats  # p_t, T
    components: Floats  # c, T
    means: Floats  # ν_t, T × k
    factors: Floats  # τ_t, T
    covariance: Floats  # Σ̄, k × k, or A
    label_means: Floats  # ȳ_t, T
    label_variances: Floats  # Var(y | t), T
    cross: Floats  # ψ̃_t, T × k
    level: float | None = None

    @property
    def signs(self) -> bool:
        """Whether labels are +1 and −1 by type, without noise."""
        return bool(np.all(np.abs(self.label_means) == 1) and np.all(self.label_variances == 0))


class ReducedTypes:
    """The types with Σ̄ in tridiagonal form, and all vectors in the span of ν_t and ψ̃_t."""

    def __init__(self, types: TypeMoments, *, exact_counts: bool = True) -> None:
        self.types, self.exact_counts = types, exact_counts
        rows = np.concatenate([types.means, types.cross]) * np.sqrt(
            np.tile(types.weights, 2)[:, None]
        )
        _, values, right = np.linalg.svd(rows, full_matrices=False)
        basis = right[values > SMALLEST_SINGULAR * values[0]].T
        self.means, self.cross = types.means @ basis, types.cross @ basis
        matrix, extra = types.covariance, 0
        if types.level is not None:
            matrix, basis, extra = _within_span(types.covariance, types.level, basis)
        self.diagonal, self.beside, self.basis, values = reduce_symmetric(matrix, basis)
        self.eigenvalues = np.append(values, types.level or 0.0)
        self.counts = np.append(np.ones(len(values)), float(extra))  # of every eigenvalue
        self.places = [np.flatnonzero(types.components == c) for c in np.unique(types.components)]

    def times(self, vectors: Floats) -> Floats:
        """Return Σ̄ times vectors (k or k × any), in the tridiagonal basis."""
        out = (vectors.T * self.diagonal).T
        out[:-1] += (vectors[1:].T * self.beside).T
        out[1:] += (vectors[:-1].T * self.beside).T
        return out


def _within_span(factor: Floats, level: float, basis: Floats) -> tuple[Floats, Floats, int]:
    """Return Σ̄ and the basis in the span U of both, and how many eigenvalues are outside.

    With [A, B] = UR the matrix there is level·I + R_A R_Aᵀ; outside, Σ̄ is level·I.
    """
    size = factor.shape[1]
    upper: Floats = qr(np.concatenate([factor, basis], axis=1), mode="r", check_finite=False)[0]
    upper = upper[: upper.shape[1]]
    inside = np.asfortranarray(upper[:, :size] @ upper[:, :size].T)
    inside[np.diag_indices(len(inside))] += level
    return inside, upper[:, size:], len(factor) - len(inside)


class Response:
    """Q = (λI + Σ pull_t M_t)^{-1} = R − E W Eᵀ, and its traces with M_t."""

    def __init__(self, reduced: ReducedTypes, pull: Floats, ridge: float) -> None:
        r = reduced
        factors = r.types.factors
        self.scale = float(pull @ factors)
        bands = np.zeros((2, len(r.diagonal)))
        bands[0] = ridge + self.scale * r.diagonal
        bands[1, :-1] = self.scale * r.beside
        self.bands, self.reduced = bands, r
        self.inner = self.banded(r.basis)  # E
        self.gram = r.basis.T @ self.inner  # G
        kernel = (r.means.T * pull) @ r.means  # K
        size = np.eye(len(kernel))
        self.weight = kernel @ np.linalg.inv(size + self.gram @ kernel)  # W
        self.weight = (self.weight + self.weight.T) / 2
        self.times_inner = r.times(self.inner)
        self.form = self.inner.T @ self.times_inner  # EᵀΛE
        self.values = 1 / (ridge + self.scale * r.eigenvalues)
        self.trace = float((r.counts * r.eigenvalues) @ self.values)
        self.trace -= float(np.sum(self.weight * self.form))
        left = self.gram - self.gram @ self.weight @ self.gram
        self.reach = factors * self.trace + np.einsum("td,de,te->t", r.means, left, r.means)

    def banded(self, right: Floats) -> Floats:
        """Return R times vectors."""
        try:
            return solveh_banded(self.bands, right, lower=True, check_finite=False)
        except LinAlgError:
            raise NotConverged(
                "types: the covariance is singular to rounding; raise the ridge"
            ) from None

    def solve(self, right: Floats) -> Floats:
        """Return Q times a vector."""
        return self.banded(right) - self.inner @ (self.weight @ (self.inner.T @ right))


class Spread:
    """C = Cov ŵ as a function of p_tχ_t: its traces with M_t and I.

    `fixed` is what exact counts take off every Tr(M_tC), whatever the errors.
    """

    def __init__(self, response: Response, samples: int, *, shares: Floats, shift: Floats) -> None:
        r, q, self.samples = response.reduced, response, samples
        self.reduced = r
        plain = q.inner.T @ q.inner
        size = np.eye(len(q.weight)) - q.weight @ q.gram
        self.along, self.plain = size.T @ q.form @ size, size.T @ plain @ size
        self.projected = q.gram @ size
        ratio, mixed = r.eigenvalues * q.values, q.weight @ q.form
        second = q.times_inner.T @ q.banded(q.times_inner)
        first = q.times_inner.T @ q.banded(q.inner)
        self.second = float((r.counts * ratio) @ ratio) - 2 * float(np.sum(q.weight * second))
        self.second += float(np.sum(mixed * mixed.T))
        self.first = float((r.counts * ratio) @ q.values) - 2 * float(np.sum(q.weight * first))
        self.first += float(np.sum(mixed * (q.weight @ plain).T))
        moved = samples * np.sqrt(shares)[:, None] * shift  # √ρ_c Qe_c
        self.taken = float(np.sum(moved**2))
        parts = moved @ r.basis
        fixed = r.types.factors * float(np.sum(moved.T * r.times(moved.T)))
        fixed += np.sum((r.means @ parts.T) ** 2, axis=1)
        self.fixed = -fixed / self.samples

    def variances(self, force: Floats) -> Floats:
        """Return Tr(M_tC) without `fixed`, for force_t = p_tχ_t."""
        r = self.reduced
        whole, kernel = float(force @ r.types.factors), (r.means.T * force) @ r.means
        covariance = whole * self.second + float(np.sum(kernel * self.along))
        shared = whole * self.along + self.projected @ kernel @ self.projected.T
        forms = np.einsum("td,de,te->t", r.means, shared, r.means)
        return (r.types.factors * covariance + forms) / self.samples

    def trace(self, force: Floats) -> float:
        """Return Tr C."""
        r = self.reduced
        whole, kernel = float(force @ r.types.factors), (r.means.T * force) @ r.means
        total = whole * self.first + float(np.sum(kernel * self.plain)) - self.taken
        return total / self.samples


@dataclass(frozen=True)
class OutputLaw:
    """u = φᵀw of every type for weights w: mean, variance without that of ŵ, and ψ̃ᵀw."""

    mean: Floats
    variance: Floats
    cross: Floats


class ByTypes:
    """What the equations of all losses share: training weights, e_c's force, the law of u."""

    def __init__(self, reduced: ReducedTypes, samples: int, ridge: float) -> None:
        self.reduced, self.samples, self.ridge = reduced, samples, ridge
        types, self.exact = reduced.types, reduced.exact_counts
        self.weights = training_weights(types, samples) if self.exact else types.weights
        self.kept = [place for place in reduced.places if np.any(self.weights[place] > 0)]
        self.shares = np.array([self.weights[place].sum() for place in self.kept])

    def law(self, mean: Floats, shift: Floats | float) -> OutputLaw:
        """Return the law of u for w = w̄ + d_c; a shift of 0 is that of a test point."""
        r, types = self.reduced, self.reduced.types
        centre, variance, cross = (np.empty(len(types.weights)) for _ in range(3))
        moved = np.broadcast_to(shift, (len(self.kept), len(mean)))
        todo = [*zip(self.kept, moved, strict=True)]
        todo += [(place, 0.0) for place in r.places if not np.any(self.weights[place] > 0)]
        for place, change in todo:
            weights = mean + change
            along = r.basis.T @ weights
            centre[place], cross[place] = r.means[place] @ along, r.cross[place] @ along
            variance[place] = types.factors[place] * (weights @ r.times(weights))
        return OutputLaw(centre, variance, cross)

    def shared_force(self, forces: list[Floats]) -> list[Floats]:
        """Return e_c of every component; their mean for all where counts are sampled."""
        return forces if self.exact else [self.shares @ np.asarray(forces)] * len(forces)

    def pulled(self, pull: Floats, shift: Floats) -> Floats:
        """Return Σ_c Σ_{t∈c} pull_t M_t d_c."""
        r, total = self.reduced, np.zeros(len(self.reduced.diagonal))
        for place, moved in zip(self.kept, shift, strict=True):
            inner = pull[place] * (r.means[place] @ (r.basis.T @ moved))
            scale = float(pull[place] @ r.types.factors[place])
            total += scale * r.times(moved) + r.basis @ (r.means[place].T @ inner)
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


def training_weights(types: TypeMoments, samples: int) -> Floats:
    """Return p_t with the components' shares rounded to whole numbers of samples."""
    names = np.unique(types.components)
    shares = np.array([types.weights[types.components == c].sum() for c in names])
    counts = np.asarray(exact_counts(shares, samples)) / samples
    factor = dict(zip(names.tolist(), (counts / shares).tolist(), strict=True))
    return types.weights * np.array([factor[c] for c in types.components.tolist()])
