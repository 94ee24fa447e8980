"""Shared linear algebra: leading singular values and Cholesky solutions."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf, dpotrs

from onegrad.calculus.expectations import hermite_coefficients
from onegrad.calculus.function import Function
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import Floats

LEADING = 40  # singular values that are kept
MOST_OUTLIERS = 12
FITTED, FEWEST_FITTED = 20, 6  # bulk values below a candidate that its edge is fitted to
FEWEST_VALUES = 8
BULK_SHARE = 2  # bulk values that every outlier needs: a short bulk has gaps by chance
MARGIN = 5.0  # edge units: Tracy and Widom's law exceeds 5 once in 10⁵ times
RESOLUTION = 1e-7  # of the largest value: smaller ones are lost in the Gram matrix
LARGEST_BAND = 8  # of a prediction: towards a = ½ the count has no bound


@dataclass(frozen=True)
class Spectrum:
    """Leading singular values, the bulk's upper edge, and how many values stand out of it.

    A `count` of MOST_OUTLIERS means at least so many; None where fewer than FEWEST_VALUES values
    show no bulk.
    """

    values: Floats
    edge: float
    count: int | None


def spectrum(values: Floats) -> Spectrum:
    """Return the spectrum of leading singular values (largest first) with its outliers counted.

    At a soft edge E the j-th value of the bulk lies near E − c(3π(4j − 1)/8)^{2/3} (zeros of the
    Airy function). E and c are fitted to the values below a candidate but one; it is outside when
    it exceeds E by more than MARGIN·c. The count is that of the lowest candidate outside.
    """
    values = np.asarray(values, dtype=float)
    if len(values) < FEWEST_VALUES:
        return Spectrum(values, float(values[0]) if len(values) else 0.0, None)
    most = min(MOST_OUTLIERS, len(values) - FEWEST_FITTED - 1, len(values) // (1 + BULK_SHARE))
    for count in range(most, 0, -1):
        edge, unit = _fitted_edge(values[count:])
        limit = edge + MARGIN * unit
        if values[count - 1] > limit + RESOLUTION * values[0]:
            return Spectrum(values, limit, count)
    edge, unit = _fitted_edge(values)
    return Spectrum(values, edge + MARGIN * unit, 0)


def _fitted_edge(bulk: Floats) -> tuple[float, float]:
    """Return E and c from the bulk's leading values; the first fluctuates most and is left out."""
    fitted = bulk[1 : 1 + FITTED]
    index = np.arange(2, 2 + len(fitted))
    airy = (3 * np.pi * (4 * index - 1) / 8) ** (2 / 3)
    slope, edge = np.polyfit(airy, fitted, 1)
    return float(edge), float(max(-slope, 0.0))


def gram_spectrum(gram: Floats, *, vectors: int = 0) -> tuple[Floats, Floats]:
    """Return the leading singular values √λ of a Gram matrix, and its first eigenvectors."""
    side = len(gram)
    first = max(0, side - LEADING)
    eigenvalues, eigenvectors = eigh(
        gram, lower=True, subset_by_index=[first, side - 1], check_finite=False
    )
    leading: Floats = np.sqrt(np.maximum(eigenvalues[::-1], 0.0))
    return leading, eigenvectors[:, ::-1][:, :vectors]


@dataclass(frozen=True)
class MatrixSpectrum:
    """Singular values of a matrix: those outside the bulk make its `rank`; ‖·‖_F²/‖·‖² beside it.

    `direction` is the leading right singular vector, None for a matrix of zeros.
    """

    spectrum: Spectrum
    frobenius: float
    direction: Floats | None

    @property
    def norm(self) -> float:
        """The largest singular value."""
        return float(self.spectrum.values[0])

    @property
    def stable_rank(self) -> float:
        """‖M‖_F²/‖M‖²."""
        return (self.frobenius / self.norm) ** 2 if self.norm > 0 else 0.0


def matrix_spectrum(matrix: Floats) -> MatrixSpectrum:
    """Return the leading singular values and first right singular vector of a matrix.

    From the Gram matrix of the smaller side: relative to the largest, values are good to 1e−8.
    """
    tall = matrix.shape[0] > matrix.shape[1]
    size = float(np.max(np.abs(matrix))) or 1.0  # so that no square overflows or vanishes
    scaled = matrix / size
    values, vectors = gram_spectrum(scaled.T @ scaled if tall else scaled @ scaled.T, vectors=1)
    direction = None
    if values[0] > 0:
        direction = vectors[:, 0] if tall else scaled.T @ vectors[:, 0]
        direction = direction / float(np.linalg.norm(direction))
        # A singular vector has no sign: ours has its largest entry above zero.
        direction = direction * np.sign(direction[np.argmax(np.abs(direction))])
    return MatrixSpectrum(spectrum(size * values), size * float(np.linalg.norm(scaled)), direction)


def predicted_spikes(exponent: float, activation: Function | str) -> tuple[int, ...] | None:
    """Return the degrees j whose spike is predicted when ‖ηG‖ ≍ d^a (Moniri et al. [4]).

    For (l − 1)/(2l) < a < l/(2l + 2) they are j ≤ l with E[σ(z)H_j(z)] ≠ 0; none at a ≤ 0. From
    a = ½ on, and beyond LARGEST_BAND, nothing is predicted: None.
    """
    if exponent <= 0:
        return ()
    band = ceil(1 / (1 - 2 * exponent)) - 1 if exponent < 0.5 else LARGEST_BAND + 1
    if band > LARGEST_BAND:
        return None
    coefficients = hermite_coefficients(activation, np.zeros(1), np.ones(1), order=band)[:, 0]
    return tuple(degree for degree in range(1, band + 1) if abs(coefficients[degree]) > 1e-9)


def solve_ridge(gram: Floats, right: Floats, *, shift: float, field: str, remedy: str) -> Floats:
    """Return (G + shift·I)^{-1} right; `gram` is the lower triangle of G, and is overwritten.

    Where the matrix is singular to rounding InvalidInput names the field and the remedy.
    """
    np.einsum("ii->i", gram)[:] += shift  # a view of the diagonal
    factor, info = dpotrf(gram, lower=1, clean=0, overwrite_a=1)
    if info != 0:
        raise InvalidInput(
            f"{field}: the Gram matrix of the features is singular to rounding; {remedy}"
        )
    solution, _ = dpotrs(factor, right, lower=1)
    return np.asarray(solution)
