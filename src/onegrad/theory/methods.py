"""The ways of theory; imports nothing, so that `onegrad --help` stays quick."""

from __future__ import annotations

from typing import Literal, get_args

Method = Literal["types", "closed", "auto"]
METHODS: tuple[Method, ...] = get_args(Method)
DEFAULT_METHOD: Method = "types"
NO_DRAWS: tuple[Method, ...] = ("closed", "auto")  # which may answer without a draw


def said_draws(method: str | None, draws: int, seed: int) -> str:
    """Return how many draws a result rests on, in words."""
    return "without draws" if method == "closed" else f"{draws} draws, seed {seed}"


def draws_of(method: str | None, draws: int, seed: int) -> dict[str, int]:
    """Return draws and seed as plain values, nothing where nothing was drawn."""
    return {} if method == "closed" else {"draws": draws, "seed": seed}
