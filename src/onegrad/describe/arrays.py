"""Arrays that users give: checked at the door, or read-only parts of a frozen description."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from onegrad.describe.checks import shown
from onegrad.describe.digests import digest_of_array
from onegrad.describe.exceptions import InvalidInput

Floats = NDArray[np.floating]
Metrics = dict[str, Floats]  # arrays by the name of a metric
Ints = NDArray[np.integer]


class Normals(Protocol):
    """What noise is drawn from: a numpy Generator, or one whose draws are kept."""

    def standard_normal(self, size: tuple[int, ...]) -> Floats:
        """Return independent standard normals, not to be written to."""


def plain_array(value: object) -> NDArray[Any]:
    """Return whole or real numbers as a plain array; whatever else loses something is refused.

    So are masked entries, complex numbers, truth values, texts and rows of unequal lengths.
    """
    if holds_masked(value):
        raise ValueError("must not have masked entries; fill or drop them")
    try:
        given = np.asarray(value)
    except (TypeError, ValueError, RuntimeError):  # unequal lengths, or its own __array__ refuses
        given = np.empty(0, dtype=object)
    if given.dtype.kind not in "iuf":
        raise ValueError("must be an array of real numbers; correct it")
    return given


def holds_masked(value: object) -> bool:
    """Return whether a masked array, or one in nested lists, hides an entry."""
    if isinstance(value, np.ma.MaskedArray):
        return bool(np.ma.getmaskarray(value).any())
    return isinstance(value, list | tuple) and any(holds_masked(part) for part in value)


def real_array(name: str, value: object, *, axes: tuple[str, ...]) -> Floats:
    """Return finite real numbers in rows, float32 where that was given, else float64.

    `axes` are words for the dimensions, as ("samples", "features"): there must be as many, none of
    them empty. What is right already is returned itself, and is not to be written to.
    """
    try:
        given = plain_array(value)
    except ValueError as error:
        raise InvalidInput(f"{name}={_described(value)}: {error}") from None
    if given.ndim != len(axes) or 0 in given.shape:
        form = f"{' × '.join(axes)}, none of them 0" if len(axes) > 1 else f"a list of {axes[0]}"
        said = _described(given) if given.ndim else shown(value)
        raise InvalidInput(f"{name}={said}: must be {form}; correct it")
    single = given.dtype == np.float32
    with np.errstate(over="ignore"):  # of longer floats: what overflows is not finite
        array: Floats = np.ascontiguousarray(given, dtype=np.float32 if single else np.float64)
    wrong = np.argwhere(~np.isfinite(array))
    if len(wrong):
        place = ", ".join(str(index) for index in wrong[0])
        raise InvalidInput(
            f"{name}[{place}]={array[tuple(wrong[0])]}: must be finite; replace or remove it"
        )
    return array


def matching_rows(name: str, array: Floats, other: str, rows: int) -> None:
    """Raise InvalidInput unless the array has as many rows as another has."""
    if len(array) != rows:
        raise InvalidInput(
            f"{name}={_described(array)}: must have one entry per row of {other}, there are "
            f"{rows}; correct one of them"
        )


def columns_of(name: str, array: Floats, columns: int, *, said: str) -> None:
    """Raise InvalidInput unless a matrix has this many columns; `said` is what they are."""
    if array.shape[1] != columns:
        raise InvalidInput(
            f"{name}={_described(array)}: must have {columns} columns, {said}; correct it"
        )


def _described(value: object) -> str:
    """Return what an array is in a message, or the value itself in short."""
    if isinstance(value, np.ndarray):
        sizes = " × ".join(str(size) for size in value.shape)
        return f"{type(value).__name__} of {sizes} {value.dtype}"
    return shown(value)


class Array:
    """A read-only float64 array; equal arrays have equal digests."""

    __slots__ = ("digest", "values")

    values: NDArray[np.float64]
    digest: str

    def __init__(self, values: object) -> None:
        with np.errstate(over="ignore"):  # of longer floats: what overflows is not finite
            array = np.array(plain_array(values), dtype=np.float64, order="C")
        if not np.all(np.isfinite(array)):
            raise ValueError("must hold finite numbers only, it has NaN or infinity; replace them")
        array.setflags(write=False)
        self.values = array
        self.digest = digest_of_array(array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype) if copy or dtype else self.values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Array) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Array(shape={self.values.shape}, {self.digest[:15]}…)"

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's shape."""
        return self.values.shape

    @classmethod
    def of(cls, value: object) -> Array:
        """Return `value` as an Array."""
        return value if isinstance(value, cls) else cls(value)

    @classmethod
    def __get_pydantic_core_schema__(
        cls, _source: Any, _handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(cls.of)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, _schema: CoreSchema, _handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"type": "array", "items": {"type": ["number", "array"]}}
