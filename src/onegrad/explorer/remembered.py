"""Answers that were given before: a slider that moves back finds them again."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any

MOST_ANSWERS = 512


class Remembered:
    """The latest answers by what was asked; nothing is written to a disk."""

    def __init__(self, most: int = MOST_ANSWERS) -> None:
        self._most = most
        self._answers: OrderedDict[str, dict[str, Any]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._answers)

    async def answer(
        self, name: str, document: dict[str, Any], work: Callable[[], Awaitable[dict[str, Any]]]
    ) -> dict[str, Any]:
        """Return the answer to a request, from memory where it was asked before."""
        key = json.dumps([name, asked(document)], sort_keys=True)
        if key not in self._answers:
            self._answers[key] = await work()
            while len(self._answers) > self._most:
                self._answers.popitem(last=False)
        self._answers.move_to_end(key)
        return self._answers[key]


def asked(document: dict[str, Any]) -> dict[str, Any]:
    """Return a request without what the page keeps for itself."""
    state = document.get("state", {})
    if isinstance(state, dict):
        own = {name: state[name] for name in ("base", "problem", "axis", "models") if name in state}
        return {**document, "state": own}
    return document
