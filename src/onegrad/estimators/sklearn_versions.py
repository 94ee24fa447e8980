"""What scikit-learn's releases from 1.5 on call by different names."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight

from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import Floats, holds_masked


def validated(estimator: Any, *arrays: Any, **how: Any) -> Any:
    """Return the arrays after scikit-learn's own checks, which remember features and their names.

    They stand beside the estimator since 1.6, and in it before. Masked entries, which they would
    unmask, are refused.
    """
    for name, array in zip(("X", "y"), arrays, strict=False):
        _refuse_masked(name, array)
    try:
        from sklearn.utils.validation import validate_data
    except ImportError:
        return estimator._validate_data(*arrays, **how)
    return validate_data(estimator, *arrays, **how)


def checked_weights(sample_weight: Any, inputs: Floats) -> Floats:
    """Return one weight per row, 1 where none are given; raise InvalidInput for negative ones."""
    _refuse_masked("sample_weight", sample_weight)
    weights = np.asarray(_check_sample_weight(sample_weight, inputs, dtype=np.float64))
    if np.any(weights < 0) or not weights.sum() > 0:
        raise InvalidInput("sample_weight: must be at least 0 and not all 0; correct them")
    return weights


def _refuse_masked(name: str, array: object) -> None:
    if holds_masked(array):
        raise InvalidInput(f"{name}: must not have masked entries; fill or drop them")


def counted(weights: Floats) -> NDArray[np.intp]:
    """Return the places of rows that count: a weight of 0 is as if the row were not there."""
    return np.flatnonzero(weights > 0)
