"""Types of fields with their bounds."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Strict,
)

from onegrad.describe.checks import LARGEST_COUNT, _plain


def _finite(value: float) -> float:
    if not np.isfinite(value):
        raise ValueError("must be a finite number; replace it")
    return value


def _positive(value: float) -> float:
    if value <= 0:
        raise ValueError("must be greater than 0; raise it")
    return value


def _at_least_zero(value: float) -> float:
    if value < 0:
        raise ValueError("must be at least 0; raise it")
    return value


def _at_least_one(value: int) -> int:
    if value < 1:
        raise ValueError("must be a whole number of at least 1; raise it")
    if value > LARGEST_COUNT:
        raise ValueError(f"must be at most {LARGEST_COUNT:.0e}; lower it")
    return value


def _unit(value: float) -> float:
    if not 0 <= value <= 1:
        raise ValueError(f"must lie in [0, 1]; {'lower' if value > 1 else 'raise'} it")
    return value


def _cosine(value: float) -> float:
    if not -1 <= value <= 1:
        raise ValueError("must lie in [-1, 1], it is a cosine; bring it into that range")
    return value


Real = Annotated[float, Strict(), BeforeValidator(_plain), AfterValidator(_finite)]
Positive = Annotated[Real, AfterValidator(_positive)]
NonNegative = Annotated[Real, AfterValidator(_at_least_zero)]
Unit = Annotated[Real, AfterValidator(_unit)]
Cosine = Annotated[Real, AfterValidator(_cosine)]
Flag = Annotated[bool, Strict()]
Count = Annotated[int, Strict(), BeforeValidator(_plain), AfterValidator(_at_least_one)]
