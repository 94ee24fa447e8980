"""Types of fields: what a number may be, as metadata that checks, help texts and schemas read."""

from __future__ import annotations

from typing import Annotated, Any, Literal

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
Text = Annotated[str, Strict()]  # bytes are no text
Flag = Annotated[bool, Strict()]
Count = Annotated[int, Strict(), Field(ge=1, le=LARGEST_COUNT), NUMPY]
CountOrZero = Annotated[int, Strict(), Field(ge=0, le=LARGEST_COUNT), NUMPY]


def control(
    *,
    label: str | None = None,
    symbol: str | None = None,
    sentence: str | None = None,
    low: float | None = None,
    high: float | None = None,
    scale: Literal["linear", "log"] | None = None,
    names: str | None = None,
    main: bool | None = None,
    hidden: bool | None = None,
) -> dict[str, Any]:
    """Return what a page with sliders shows of a field, as `json_schema_extra` of the field.

    Label, symbol and a sentence in plain words; the ends of a slider where bounds say too little;
    `names` is the title of the registry whose names a text may hold; `main` controls stand first.
    Whatever is left out follows from the field's name, description, bounds and default.
    """
    said = {
        "label": label,
        "symbol": symbol,
        "sentence": sentence,
        "low": low,
        "high": high,
        "scale": scale,
        "names": names,
        "main": main,
        "hidden": hidden,
    }
    return {"control": {name: value for name, value in said.items() if value is not None}}
