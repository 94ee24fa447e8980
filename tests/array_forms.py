"""One array in the forms that users have it in, and what to do with results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pandas as pd

from onegrad.describe.numbers import Array
from onegrad.describe.value import Value


def read_only(array: Any) -> Any:
    """Return a copy that cannot be written to."""
    out = array.copy()
    out.setflags(write=False)
    return out


def strided(array: Any) -> Any:
    """Return a view whose entries do not lie beside each other."""
    return np.repeat(array, 2, axis=-1)[..., ::2]


def table(array: Any) -> Any:
    """Return pandas' DataFrame or Series of an array."""
    if array.ndim == 1:
        return pd.Series(array, index=np.arange(len(array))[::-1])
    return pd.DataFrame(array, columns=[f"c{j}" for j in range(array.shape[1])])


FORMS: dict[str, Callable[[Any], Any]] = {
    "float32": lambda array: array.astype(np.float32),
    "big-endian": lambda array: array.astype(">f8"),
    "long double": lambda array: array.astype(np.longdouble),
    "Fortran-ordered": np.asfortranarray,
    "read-only": read_only,
    "strided": strided,
    "reversed twice": lambda array: array[::-1].copy()[::-1],
    "pandas": table,
    "nested lists": lambda array: array.tolist(),
    "masked nowhere": lambda array: np.ma.array(array, mask=False),
}


def arrays_in(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield every array in a result with its path, whatever it is wrapped in."""
    if isinstance(value, np.ndarray):
        yield "", value
    elif isinstance(value, Array):
        yield "", value.values
    elif isinstance(value, pd.DataFrame | pd.Series):
        yield "", value.to_numpy()
    elif isinstance(value, Mapping):
        yield from _inside((str(key), part) for key, part in value.items())
    elif isinstance(value, list | tuple):
        yield from _inside((str(place), part) for place, part in enumerate(value))
    elif isinstance(value, Value):
        yield from _inside((name, getattr(value, name)) for name in type(value).model_fields)
    elif is_dataclass(value):
        yield from _inside((field.name, getattr(value, field.name)) for field in fields(value))
    elif hasattr(value, "state"):  # a Run
        yield from _inside([("state", value.state)])
    elif isinstance(value, float):
        yield "", np.array(value)


def _inside(parts: Any) -> Iterator[tuple[str, Any]]:
    for name, part in parts:
        yield from ((f"{name}.{path}", array) for path, array in arrays_in(part))


def same(found: Any, expected: Any, *, tolerance: float) -> bool:
    """Return whether two results hold the same numbers, to a relative tolerance."""
    one, other = dict(arrays_in(found)), dict(arrays_in(expected))
    assert one, "the result holds no numbers to compare"
    if one.keys() != other.keys():
        return False
    return all(
        np.array_equal(one[path], other[path], equal_nan=True)
        or (
            tolerance > 0
            and np.allclose(one[path], other[path], rtol=tolerance, atol=tolerance, equal_nan=True)
        )
        for path in one
    )
