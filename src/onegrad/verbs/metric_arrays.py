"""The arrays of a result: real numbers over the axes that the result names."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from onegrad.describe.arrays import Floats, plain_array
from onegrad.describe.checks import shown, text
from onegrad.describe.exceptions import InvalidInput


def checked_metrics(metrics: object, sizes: Mapping[str, int]) -> dict[str, Floats]:
    """Return a result's metrics as arrays of its own; raise InvalidInput where axes do not fit.

    `sizes` are those of the axes, trials first: of these there may be any number but none.
    """
    if not isinstance(metrics, Mapping) or not metrics:
        raise InvalidInput(f"metrics={shown(metrics)}: must be a table of arrays; give one")
    arrays = {text("metrics", name): _numbers(name, values) for name, values in metrics.items()}
    trials = next(iter(arrays.values())).shape[:1]
    expected = (*trials, *list(sizes.values())[1:])
    for name, values in arrays.items():
        if values.shape != expected or not values.size:
            raise InvalidInput(
                f"metrics[{shown(name)}]: has shape {values.shape}, must have the axes "
                f"{', '.join(sizes)} of sizes {expected}; correct it"
            )
    return arrays


def _numbers(name: str, values: object) -> Floats:
    try:
        return np.array(plain_array(values), dtype=np.float64)
    except ValueError as error:
        raise InvalidInput(f"metrics[{shown(name)}]={shown(values)}: {error}") from None
