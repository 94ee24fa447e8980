"""Checks of single arguments: numbers, kinds, paths, and how a value is shown in a message."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from onegrad.describe.exceptions import InvalidInput

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
    """Return a list of whole numbers; raise InvalidInput where it is none, or empty."""
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
    """Return `value`; raise InvalidInput unless it is a text."""
    if not isinstance(value, str):
        raise InvalidInput(f"{name}={shown(value)}: must be a text; correct it")
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
        raise InvalidInput(f"{name}={shown(value)}: must be a path; give a text or a Path")
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
