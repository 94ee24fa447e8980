"""Answers are found again, and only so many are kept."""

import asyncio

import pytest

from onegrad.describe.exceptions import InvalidInput
from onegrad.explorer.remembered import Remembered


def test_what_was_asked_before_is_not_computed_again():
    calls = []

    async def work():
        calls.append(1)
        return {"value": len(calls)}

    async def main():
        memory = Remembered(most=2)
        first = {"state": {"problem": {"a": 1, "b": 2}, "view": {"dark": True}}, "points": 8}
        same = {"points": 8, "state": {"view": {}, "problem": {"b": 2, "a": 1}}}
        assert await memory.answer("curve", first, work) == {"value": 1}
        assert await memory.answer("curve", same, work) == {"value": 1}
        assert await memory.answer("map", same, work) == {"value": 2}
        assert await memory.answer("curve", {**first, "points": 60}, work) == {"value": 3}
        assert len(memory) == 2
        assert await memory.answer("curve", same, work) == {"value": 4}  # it was the oldest

    asyncio.run(main())


def test_a_refusal_is_not_remembered():
    async def refuse():
        raise InvalidInput("x=1: must be 2; change it")

    async def main():
        memory = Remembered()
        with pytest.raises(InvalidInput):
            await memory.answer("curve", {}, refuse)
        assert len(memory) == 0

    asyncio.run(main())
