"""The algebra of types with a covariance each: features are heteroscedastic given the spikes.

M_t is never stored: only the Hermite coefficients a_q of each type, q ≤ 2, the correlations R off
the spikes, and the diagonal of what is left. Every Q costs one k × k inverse.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from onegrad.calculus.type_labels import TypeLabels
from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import NotConverged
from onegrad.theory.by_types import OutputLaw
from onegrad.theory.grid_types import Types


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
