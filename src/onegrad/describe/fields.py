"""Types of fields: what a number may be, as metadata that checks, help texts and schemas read."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, Strict

from onegrad.describe.checks import LARGEST_COUNT, plain

# Numpy's numbers are numbers. Last in a type, so that bounds stay those of the number itself.
NUMPY = BeforeValidator(plain)

Real = Annotated[float, Strict(), Field(allow_inf_nan=False), NUMPY]
Positive = Annotated[float, Strict(), Field(gt=0, allow_inf_nan=False), NUMPY]
NonNegative = Annotated[float, Strict(), Field(ge=0, allow_inf_nan=False), NUMPY]
Unit = Annotated[float, Strict(), Field(ge=0, le=1, allow_inf_nan=False), NUMPY]
Half = Annotated[float, Strict(), Field(ge=0, le=0.5, allow_inf_nan=False), NUMPY]
Cosine = Annotated[float, Strict(), Field(ge=-1, le=1, allow_inf_nan=False), NUMPY]
Flag = Annotated[bool, Strict()]
Count = Annotated[int, Strict(), Field(ge=1, le=LARGEST_COUNT), NUMPY]
CountOrZero = Annotated[int, Strict(), Field(ge=0, le=LARGEST_COUNT), NUMPY]
