"""Traces and quadratic forms of (Ω + κ)^{-1} for every κ, from one reduction of Ω.

A symmetric matrix is reduced to tridiagonal form once, Ω = Q T Qᵀ; eigenvalues of T give the
traces, tridiagonal solves with Qᵀψ the quadratic forms. No eigenvectors are computed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, eigvalsh_tridiagonal, solveh_banded
from scipy.linalg.lapack import dormqr, dsytrd, dsytrd_lwork

from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import NotConverged, require_finite


def reduce_symmetric(matrix: Floats, vectors: Floats) -> tuple[Floats, Floats, Floats, Floats]:
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


@dataclass(frozen=True)
class Tridiagonal:
    """A positive semi-definite matrix and a vector in a basis where the matrix is tridiagonal."""

    diagonal: Floats
    beside: Floats
    vector: Floats
    eigenvalues: Floats

    @classmethod
    def reduce(cls, matrix: Floats, vector: Floats) -> Tridiagonal:
        """Return the reduction of `matrix`, which is overwritten if it is in Fortran order."""
        diagonal, beside, rotated, eigenvalues = reduce_symmetric(matrix, vector[:, None])
        return cls(diagonal, beside, rotated[:, 0], eigenvalues)

    def forms(self, shift: float) -> tuple[float, float]:
        """Return vᵀ(M + shift)^{-1}v and vᵀ(M + shift)^{-2}v."""
        if len(self.diagonal) == 1:
            solved = self.vector / (self.diagonal + shift)
            return float(self.vector @ solved), float(solved @ solved)
        bands = np.zeros((2, len(self.diagonal)))
        bands[0] = self.diagonal + shift
        bands[1, :-1] = self.beside
        try:
            solved = solveh_banded(bands, self.vector, lower=True, check_finite=False)
        except LinAlgError:
            raise NotConverged(
                f"moments: singular to rounding with effective ridge {shift:.1e}; raise the ridge, "
                "or bring learning rate and spread nearer to 1"
            ) from None
        return float(self.vector @ solved), float(solved @ solved)


@dataclass(frozen=True)
class ReducedMoments:
    """Ω and ψ reduced: everything that ridge regression's deterministic equivalents ask of them.

    Either Ω itself is `reduced`, or Ω = level·I + AAᵀ with k rows and AᵀA, Aᵀψ are; then
    `label_norm` is ‖ψ‖² and the eigenvalue `level` has the remaining multiplicity.
    """

    reduced: Tridiagonal
    label_power: float
    level: float = 0.0
    extra: int = 0
    label_norm: float = 0.0

    @property
    def eigenvalues(self) -> Floats:
        """The eigenvalues of Ω but for `extra` copies of `level`."""
        return self.reduced.eigenvalues + self.level

    def traces(self, kappa: Floats) -> tuple[Floats, Floats, Floats]:
        """Return Tr Ω(Ω+κ)^{-1}, Tr Ω²(Ω+κ)^{-2} and Tr Ω(Ω+κ)^{-2} for an array of κ."""
        e = self.eigenvalues
        first, second, third = (np.empty(kappa.shape) for _ in range(3))
        for index, value in np.ndenumerate(kappa):
            ratio = e / (e + value)
            rest = self.level / (self.level + value) if self.extra else 0.0
            first[index] = ratio.sum() + self.extra * rest
            second[index] = (ratio**2).sum() + self.extra * rest**2
            third[index] = (ratio / (e + value)).sum()
            if self.extra:
                third[index] += self.extra * rest / (self.level + value)
        return first, second, third

    def forms(self, kappa: Floats) -> tuple[Floats, Floats]:
        """Return ψᵀ(Ω+κ)^{-1}ψ and ψᵀ(Ω+κ)^{-2}ψ for an array of κ."""
        first, second = np.empty(kappa.shape), np.empty(kappa.shape)
        for index, value in np.ndenumerate(kappa):
            shift = self.level + float(value)
            once, twice = self.reduced.forms(shift)
            if self.extra:
                # ψᵀ(AAᵀ + c)^{-1}ψ = (‖ψ‖² − vᵀ(AᵀA + c)^{-1}v)/c with v = Aᵀψ; minus its
                # derivative in c is the second form.
                form = (self.label_norm - once) / shift
                first[index], second[index] = form, (form - twice) / shift
            else:
                first[index], second[index] = once, twice
        return first, second
