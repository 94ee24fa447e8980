"""Arrays as parts of a frozen description: read-only, compared and hashed by their digest."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from onegrad.describe.digests import digest_of_array

Floats = NDArray[np.floating]
Ints = NDArray[np.integer]


class Normals(Protocol):
    """What noise is drawn from: a numpy Generator, or one whose draws are kept."""

    def standard_normal(self, size: tuple[int, ...]) -> Floats:
        """Return independent standard normals, not to be written to."""


class Array:
    """A read-only float64 array; equal arrays have equal digests."""

    __slots__ = ("digest", "values")

    values: NDArray[np.float64]
    digest: str

    def __init__(self, values: object) -> None:
        try:
            given = np.asarray(values)
        except ValueError:  # lists of unequal lengths
            given = np.empty(0, dtype=object)
        if given.dtype.kind not in "iuf":
            raise ValueError("must be an array of numbers; correct it")
        array = np.array(given, dtype=np.float64, order="C")
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
