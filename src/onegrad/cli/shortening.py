"""Messages that fit on a screen: one line, long values cut in their middle."""

from __future__ import annotations

import re

LONGEST_WORD = 120  # a path of this length is still shown whole
LONGEST_LINE = 600
_LONG_WORD = re.compile(rf"\S{{{LONGEST_WORD + 1},}}")


def shortened(message: str) -> str:
    """Return a message in one line; words and lines that nobody would read lose their middle."""
    line = " ".join(message.split())
    line = _LONG_WORD.sub(lambda match: _without_middle(match.group(), LONGEST_WORD), line)
    return _without_middle(line, LONGEST_LINE)


def _without_middle(text: str, longest: int) -> str:
    """Return the beginning and the end: rule and remedy follow a value in one word at times."""
    if len(text) <= longest:
        return text
    half = (longest - 1) // 2
    return f"{text[:half]}…{text[-half:]}"
