"""The range of a slider: as its field says, else by the field's bounds and default."""

from __future__ import annotations

from typing import Any

from pydantic.fields import FieldInfo

from onegrad.describe.checks import LARGEST_COUNT
from onegrad.describe.schema import bounds_of

BELOW = 4.0  # room under a default that is smaller than its slider's usual end
AROUND = 30.0  # a slider without bounds spans this factor around its default, both ways


def slider_range(
    info: FieldInfo, extra: dict[str, Any], kind: str, *, default: Any, value: Any
) -> tuple[float | None, float | None, str]:
    """Return the ends of a slider and its scale: as the field says, else by its bounds.

    Without an upper bound a slider spans a factor around the default; a value outside widens it,
    and a small default has room below.
    """
    if kind not in ("number", "count"):
        return None, None, "linear"
    low, high, open_low, whole = bounds_of(info)
    middle = default if isinstance(default, float | int) and default else 1.0
    endless = high is None or high >= LARGEST_COUNT
    positive = low is not None and (low > 0 or open_low)
    scale = extra.get("scale", "log" if endless and positive else "linear")
    top = AROUND * abs(middle) if endless or high is None else high
    if low is None or (scale == "log" and low <= 0):
        bottom = middle / AROUND if scale == "log" else -top
    else:
        bottom = max(low, middle / AROUND) if scale == "log" else low
    bottom, top = extra.get("low", bottom), extra.get("high", top)
    if scale == "log" and 0 < middle < bottom:
        bottom = max(middle / BELOW, low or 0.0)
    if isinstance(value, float | int) and not isinstance(value, bool):
        bottom, top = min(bottom, value or bottom), max(top, value)
    if whole:
        return round(bottom), round(top), scale
    return float(f"{bottom:.4g}"), float(f"{top:.4g}"), scale
