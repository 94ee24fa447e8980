"""Records that tell damage: a format and a checksum in the text itself."""

from __future__ import annotations

import json
import math
from typing import Any

from onegrad.describe.digests import checksum_of_text

_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_NUMBER = "number"
_FORMAT, _CHECKSUM = "format", "checksum"


class Damaged(ValueError):
    """What was read is not what was written; the message says in a few words why."""


def seal(record: dict[str, Any], form: int, *, indent: int | None = None) -> str:
    """Return the record as JSON that begins with its format and ends with its checksum.

    The checksum is that of the text before it, to the letter. NaN and infinities become
    {"number": …}.
    """
    plain = {_FORMAT: form, **explicit(record)}
    text = json.dumps(plain, ensure_ascii=False, allow_nan=False, indent=indent)
    head = text[:-1].rstrip()
    return head + _tail(head)


def unseal(text: str, form: int) -> dict[str, Any]:
    """Return the record of a sealed text; raise Damaged unless it is as `seal` wrote it."""
    head, _, tail = text.rpartition(f', "{_CHECKSUM}": "')
    if not head or text != head + _tail(head):
        raise Damaged("the checksum does not fit" if tail != text else "it has no checksum")
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError):
        raise Damaged("it is not JSON") from None
    found = plain.pop(_FORMAT, None)
    if found != form:
        raise Damaged(f"its format is {found}, not {form}")
    del plain[_CHECKSUM]
    record: dict[str, Any] = _restored(plain)
    return record


def _tail(head: str) -> str:
    return f', "{_CHECKSUM}": "{checksum_of_text(head)}"}}'


def explicit(value: Any) -> Any:
    """Return plain values with {"number": …} in place of NaN and infinities."""
    if isinstance(value, dict):
        return {key: explicit(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [explicit(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {_NUMBER: "NaN" if math.isnan(value) else f"{'-' * (value < 0)}Infinity"}
    return value


def _restored(value: Any) -> Any:
    """Return plain values with NaN and infinities again."""
    if isinstance(value, dict):
        if set(value) == {_NUMBER} and value[_NUMBER] in _SPECIAL:
            return _SPECIAL[value[_NUMBER]]
        return {key: _restored(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_restored(inner) for inner in value]
    return value
