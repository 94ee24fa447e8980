"""JSON as the explorer reads it: no NaN, no numbers without end, nothing nested deeply."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from onegrad.explorer.guard import Refused

DEEPEST = 12
_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKETS = re.compile(rb"[\[\]{}]")


def read_json(body: bytes) -> dict[str, Any]:
    """Return the table in a body; raise Refused, status 400, where there is none."""
    if _is_deep(body):
        raise Refused(400, f"body: must be nested at most {DEEPEST} deep; flatten it")
    try:
        document = json.loads(body, parse_constant=_refuse_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"body: is not JSON ({str(error)[:80]}); correct it") from None
    if not isinstance(document, dict):
        raise Refused(400, "body: must be a table; send {…}")
    return document


def _is_deep(body: bytes) -> bool:
    depth = 0
    for bracket in _BRACKETS.finditer(_STRINGS.sub(b"", body)):
        depth += 1 if bracket.group() in b"[{" else -1
        if depth > DEEPEST:
            return True
    return False


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is no number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is too large")
    return value
