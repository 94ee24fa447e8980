"""What the page can ask for, each as a function of a request's document."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from onegrad.describe.checks import shown
from onegrad.describe.exceptions import InvalidInput
from onegrad.explorer.crew import Crew
from onegrad.explorer.curves import CLOSED, closed_refusal, curve, points_along
from onegrad.explorer.export import copied
from onegrad.explorer.presets import explorer_document, real_bases
from onegrad.explorer.remembered import Remembered
from onegrad.explorer.state import DEFAULT_MODELS, START, ExplorerState, read_state
from onegrad.explorer.turns import Turns
from onegrad.explorer.views import DRAWN, degrees, plane, step_view
from onegrad.problem.problem import Problem

THEORY_SECONDS, TRIAL_SECONDS = 120.0, 300.0
SIMULATION_NICENESS = 10
MOST_SIMULATIONS = 2
STEP = 10  # urgency


class ExplorerDesk:
    """What requests share: problems to start from, crews of workers, whose turn it is."""

    def __init__(self, bases: dict[str, Problem], *, workers: int) -> None:
        self.bases = dict(bases)
        self.crew = Crew(workers, seconds=THEORY_SECONDS)
        # Trained networks give way to theory: the page stays live.
        self.trainers = Crew(
            max(1, workers - 1), niceness=SIMULATION_NICENESS, seconds=TRIAL_SECONDS
        )
        self.turns, self.remembered = Turns(), Remembered()
        self.simulations: dict[str, asyncio.Task[None]] = {}  # by view

    async def open(self) -> None:
        """Warm the workers, then see which real data are here."""
        self.crew.start()
        problem = self.bases[START]
        if closed_refusal(problem, DEFAULT_MODELS) is None:
            warm = [
                self.crew.call(points_along, [problem], DEFAULT_MODELS, CLOSED, True)
                for _ in range(2 * self.crew.workers)
            ]
            await asyncio.gather(*warm, return_exceptions=True)
        self.bases |= await asyncio.to_thread(real_bases)

    def leave(self) -> None:
        """Give up all work, so that those who wait are answered at once."""
        self.turns.end()
        for task in list(self.simulations.values()):
            task.cancel()

    async def close(self) -> None:
        """End all work and all workers."""
        self.leave()
        await asyncio.gather(self.crew.close(), self.trainers.close())

    def state(self, document: dict[str, Any]) -> ExplorerState:
        """Return the state of a request."""
        return read_state(document.get("state", {}), self.bases)


async def _controls(desk: ExplorerDesk, document: dict[str, Any]) -> dict[str, Any]:
    return explorer_document(desk.state(document), desk.bases)


async def _curve(desk: ExplorerDesk, document: dict[str, Any]) -> dict[str, Any]:
    points, draft = document.get("points", 8), document.get("draft", True)
    if not isinstance(points, int) or isinstance(points, bool):
        raise InvalidInput(f"points={shown(points)}: must be a whole number; correct it")
    if not isinstance(draft, bool):
        raise InvalidInput(f"draft={shown(draft)}: must be true or false; correct it")
    return await curve(desk.crew, desk.state(document), points=points, draft=draft)


async def _map(desk: ExplorerDesk, document: dict[str, Any]) -> dict[str, Any]:
    return await plane(desk.crew, desk.state(document), document.get("size", 9))


async def _degree(desk: ExplorerDesk, document: dict[str, Any]) -> dict[str, Any]:
    return await degrees(desk.crew, desk.state(document))


async def _step(desk: ExplorerDesk, document: dict[str, Any]) -> dict[str, Any]:
    problem = desk.state(document).problem
    method = CLOSED if closed_refusal(problem, ("network",)) is None else DRAWN
    answer: dict[str, Any] = await desk.crew.call(step_view, problem, method, urgency=STEP)
    return answer


async def _copy(desk: ExplorerDesk, document: dict[str, Any]) -> dict[str, Any]:
    return dict(copied(desk.state(document), document.get("as")))


Answer = Callable[[ExplorerDesk, dict[str, Any]], Coroutine[Any, Any, dict[str, Any]]]
COMPUTED: dict[str, Answer] = {"curve": _curve, "map": _map, "degree": _degree, "step": _step}


def _from_memory(name: str) -> Answer:
    async def answer(desk: ExplorerDesk, document: dict[str, Any]) -> dict[str, Any]:
        work = COMPUTED[name]
        return await desk.remembered.answer(name, document, lambda: work(desk, document))

    return answer


ANSWERS: dict[str, Answer] = {
    "controls": _controls,
    "copy": _copy,
    **{name: _from_memory(name) for name in COMPUTED},
}
