"""Ridge regression from a summed Gram matrix, by Cholesky: the one place that factors it."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import InvalidInput


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
