"""The methods of theory, and what a theory needs of a problem."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal, get_args

from onegrad.describe.exceptions import InvalidInput

Method = Literal["types", "closed", "auto"]
METHODS: tuple[Method, ...] = get_args(Method)
DEFAULT_METHOD: Method = "types"
NO_DRAWS: tuple[Method, ...] = ("closed", "auto")  # which may answer without a draw


@dataclass(frozen=True)
class Need:
    """One condition that a theory sets for a field of a problem, and the reason of the refusal."""

    field: str
    is_met: Callable[[Any], bool]
    reason: str = "method='closed' does not know it; use method='types'"


THEORY_NEEDS = (
    Need(
        "readout.batch",
        lambda problem: problem.has_theory,
        "theory needs samples that the first layer has not seen; use 'fresh', or simulate",
    ),
    Need(
        "readout.outputs",
        lambda problem: not problem.classes or problem.readout.loss == "square",
        "theory knows outputs per class of the square loss alone; simulate other losses",
    ),
    Need(
        "readout.outputs",
        lambda problem: not (problem.classes and problem.teacher.flip_rate),
        "theory knows classes without teacher.flips alone; use outputs='one', or simulate it",
    ),
)


def require(problem: Any, needs: Iterable[Need] = THEORY_NEEDS) -> None:
    """Raise InvalidInput with the first need that a problem does not meet."""
    for need in needs:
        if not need.is_met(problem):
            value = attrgetter(need.field)(problem)
            raise InvalidInput(f"{need.field}={value!r}: {need.reason}")


def said_draws(method: str | None, draws: int, seed: int) -> str:
    """Return how many draws a result rests on, in words."""
    return "without draws" if method == "closed" else f"{draws} draws, seed {seed}"


def draws_of(method: str | None, draws: int, seed: int) -> dict[str, int]:
    """Return draws and seed as plain values, nothing where nothing was drawn."""
    return {} if method == "closed" else {"draws": draws, "seed": seed}
