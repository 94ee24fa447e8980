"""Checks of numbers and arrays from users; how numbers are printed."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.files import digest_of_array

LARGEST_COUNT = 10**9
LONGEST_PATH = 4096  # which no system allows more of

K = TypeVar("K")


def whole_number(name: str, value: object, *, least: int) -> int:
    """Return `value` as an int; raise InvalidInput unless it is whole and at least `least`."""
    number = plain(value)
    whole = isinstance(number, int) and not isinstance(number, bool)
    if not whole or not least <= number <= LARGEST_COUNT:
        raise InvalidInput(
            f"{name}={shown(number)}: must be a whole number of at least {least} and at most "
            f"{LARGEST_COUNT:.0e}; change it"
        )
    return int(number)


def whole_numbers(name: str, values: Any, *, least: int) -> list[int]:
    """Return a list of whole numbers; raise InvalidInput unless it has at least one."""
    return [whole_number(name, value, least=least) for value in listed(name, values)]


def listed(name: str, values: Any) -> list[Any]:
    """Return the entries of a list, tuple, range, array or column; there must be at least one."""
    given = values.tolist() if hasattr(values, "tolist") else values
    if not isinstance(given, list | tuple | range) or not len(given):
        raise InvalidInput(f"{name}={shown(values)}: must be a list of at least one value; add one")
    return list(given)


def real_numbers(value: Any) -> list[float]:
    """Return one number or a flat list of numbers as floats; texts and truth values are refused.

    Whole numbers beyond all floats are infinite. Arrays and pandas' columns are lists too.
    """
    given = value.tolist() if getattr(value, "ndim", 2) < 2 else value
    numbers = list(given) if isinstance(given, list | tuple) else [given]
    numbers = [plain(number) for number in numbers]
    if any(isinstance(n, bool) or not isinstance(n, int | float) for n in numbers):
        raise ValueError("must be a number or a flat list of numbers; correct it")
    return [_float(number) for number in numbers]


def is_list(value: Any) -> bool:
    """Return whether what `real_numbers` reads is a list, not a single number."""
    return isinstance(value.tolist() if hasattr(value, "tolist") else value, list | tuple)


def _float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return np.inf if number > 0 else -np.inf


def any_number(name: str, value: Any) -> float:
    """Return `value` as a float, NaN and infinity too; raise InvalidInput unless it is a number."""
    number = plain(value)
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise InvalidInput(f"{name}={shown(value)}: must be a number; correct it")
    return _float(number)


def real_number(name: str, value: Any) -> float:
    """Return `value` as a float; raise InvalidInput unless it is one finite number."""
    number = any_number(name, value)
    if not np.isfinite(number):
        raise InvalidInput(f"{name}={shown(value)}: must be a finite number; correct it")
    return number


def positive_number(name: str, value: Any) -> float:
    """Return `value` as a float; raise InvalidInput unless it is one finite number above 0."""
    number = real_number(name, value)
    if not number > 0:
        raise InvalidInput(f"{name}={number:g}: must be finite and greater than 0; change it")
    return number


def positive_numbers(name: str, value: Any) -> list[float]:
    """Return one number or a list as floats; raise InvalidInput unless all are above 0."""
    try:
        numbers = real_numbers(value)
    except ValueError as error:
        raise InvalidInput(f"{name}={shown(value)}: {error}") from None
    if not numbers:
        raise InvalidInput(f"{name}=[]: must hold at least one number; add one")
    for number in numbers:
        if not (np.isfinite(number) and number > 0):
            raise InvalidInput(f"{name}={number:g}: must be finite and greater than 0; change it")
    return numbers


def truth(name: str, value: object) -> bool:
    """Return `value`; raise InvalidInput unless it is true or false."""
    if not isinstance(plain(value), bool):
        raise InvalidInput(f"{name}={shown(value)}: must be True or False; choose one")
    return bool(value)


def of_kind(name: str, value: object, kind: type[K], *, remedy: str) -> K:
    """Return `value`; raise InvalidInput unless it is of this class."""
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise InvalidInput(f"{name}={shown(value)}: must be {article} {kind.__name__}; {remedy}")
    return value


def text(name: str, value: object) -> str:
    """Return `value`; raise InvalidInput unless it is a string."""
    if not isinstance(value, str):
        raise InvalidInput(f"{name}={shown(value)}: must be a string; put it in quotes")
    return value


def one_of(name: str, value: object, known: Iterable[str]) -> str:
    """Return `value`; raise InvalidInput unless it is one of the known words."""
    words = list(known)
    if not isinstance(value, str) or value not in words:
        raise InvalidInput(f"{name}={shown(value)}: must be one of {', '.join(words)}; choose one")
    return value


def path_of(name: str, value: object) -> Path:
    """Return `value` as a path; raise InvalidInput unless it is one that files can have."""
    if not isinstance(value, str | os.PathLike) or not isinstance(os.fspath(value), str):
        raise InvalidInput(f"{name}={shown(value)}: must be a path; give a string or a Path")
    if "\0" in os.fspath(value) or len(os.fspath(value)) > LONGEST_PATH:
        raise InvalidInput(
            f"{name}={shown(value)}: must have at most {LONGEST_PATH} characters, none of them "
            "null; correct it"
        )
    return Path(value)


def callback(name: str, value: object, *, arguments: tuple[str, ...]) -> None:
    """Raise InvalidInput unless `value` is None, true, false or a function of these arguments."""
    if not isinstance(value, bool | None) and not is_called_with(value, *arguments):
        called = f"{name}({', '.join(arguments)})"
        raise InvalidInput(
            f"{name}={shown(value)}: must be True, False, None or called as {called}; change it"
        )


def is_called_with(value: object, *arguments: str) -> bool:
    """Return whether `value` can be called with so many arguments, as far as it tells."""
    if not callable(value):
        return False
    try:
        inspect.signature(value).bind(*arguments)
    except TypeError:
        return False
    except ValueError:  # some built-in functions do not tell
        return True
    return True


def shown(value: object) -> str:
    """Return a short text for a value in a message, in one line."""
    try:
        said = " ".join(line.strip() for line in repr(value).splitlines())
    except ValueError:  # whole numbers of thousands of digits have no text
        said = f"{type(value).__name__} too long to show"
    return said if len(said) <= 60 else said[:57] + "..."


def plain(value: Any) -> Any:
    """Return numpy's numbers as Python's, anything else as it is."""
    if isinstance(value, np.longdouble):  # whose item is itself
        return float(value)
    return value.item() if isinstance(value, np.generic) else value


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


def with_error(mean: float, stderr: float) -> str:
    """Return a number with its standard error, where there is one."""
    if not math.isfinite(stderr):
        return f"{mean:.4g}"
    if 1e-3 <= abs(mean) < 1e4:
        return f"{mean:.5f} ± {stderr:.5f}"
    return f"{mean:.3e} ± {stderr:.1e}"


def percent(gap: float, error: float) -> str:
    """Return a relative gap in per cent with its standard error, where there is one."""
    mean, stderr = 100 * gap, 100 * error
    if not math.isfinite(mean):
        return "undefined"
    return f"{mean:+.2f} %" if not math.isfinite(stderr) else f"{mean:+.2f} ± {stderr:.2f} %"


def duration(seconds: float) -> str:
    """Return a length of time as a person says it."""
    if seconds < 9.5:
        return f"{seconds:.1g} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
