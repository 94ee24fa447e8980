"""Checks of single arguments: numbers, counts, and how a value is shown in a message."""

from __future__ import annotations

from typing import Any

import numpy as np

from onegrad.describe.exceptions import InvalidInput

LARGEST_COUNT = 10**9


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


def real_numbers(value: Any) -> list[float]:
    """Return one number or a flat list of numbers as floats; texts and truth values are refused."""
    given = value.tolist() if isinstance(value, np.ndarray) else plain(value)
    numbers = list(given) if isinstance(given, list | tuple) else [given]
    numbers = [plain(number) for number in numbers]
    if any(isinstance(n, bool) or not isinstance(n, int | float) for n in numbers):
        raise ValueError("must be a number or a flat list of numbers; correct it")
    return [float(number) for number in numbers]


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


def shown(value: object) -> str:
    """Return a short text for a value in a message, in one line."""
    try:
        text = " ".join(line.strip() for line in repr(value).splitlines())
    except ValueError:  # whole numbers of thousands of digits have no text
        text = f"{type(value).__name__} too long to show"
    return text if len(text) <= 60 else text[:57] + "..."


def plain(value: Any) -> Any:
    """Return numpy's numbers as Python's, anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value
