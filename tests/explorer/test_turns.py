"""A newer state of a view overtakes older ones; few requests are at work at once."""

import asyncio

import pytest

from onegrad.explorer.server import Overtaken, Refused, Turns


def headers(view, turn):
    return {"x-onegrad-view": view, "x-onegrad-turn": str(turn)}


async def value_of(result):
    return result


async def endless():
    await asyncio.sleep(600)


async def started(turns, *said):
    task = asyncio.ensure_future(turns.run(*said))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return task


def test_a_newer_turn_overtakes_older_work_at_once():
    async def main():
        turns = Turns()
        older = await started(turns, headers("a", 1), endless())
        same = await started(turns, headers("a", 2), endless())
        other = await started(turns, headers("b", 1), endless())
        assert await turns.run(headers("a", 2), value_of(5)) == 5  # beside work of its own turn
        with pytest.raises(Overtaken):
            await older
        assert not same.done()
        assert not other.done()
        with pytest.raises(Overtaken):
            await turns.run(headers("a", 1), value_of(5))  # came too late
        for task in (same, other):
            task.cancel()

    asyncio.run(main())


def test_work_without_a_view_is_not_overtaken():
    async def main():
        turns = Turns()
        first = await started(turns, {}, value_of(1))
        assert await turns.run({}, value_of(2)) == 2
        assert await first == 1

    asyncio.run(main())


def test_the_queue_is_bounded_and_frees_itself():
    async def main():
        turns = Turns(most=2)
        waiting = [await started(turns, {}, endless()) for _ in range(2)]
        with pytest.raises(Refused) as refused:
            await turns.run({}, value_of(1))
        assert refused.value.status == 429
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert await turns.run({}, value_of(1)) == 1

    asyncio.run(main())


@pytest.mark.parametrize("said", [("v" * 65, 0), ("v", "x"), ("v", "-1"), ("v", "9" * 16)])
def test_strange_views_and_turns_are_refused(said):
    with pytest.raises(Refused):
        asyncio.run(Turns().run(headers(*said), value_of(1)))
