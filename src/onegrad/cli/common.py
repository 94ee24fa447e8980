"""Options and readers that several commands share."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onegrad.cli.options import parse_numbers

if TYPE_CHECKING:
    from onegrad.problem.problem import Problem

draws_option = click.option(
    "--draws", type=int, default=4, show_default=True, help="Draws of F, w and the step's batch."
)
seed_option = click.option("--seed", type=int, default=0, show_default=True)
workers_option = click.option(
    "--workers", type=int, default=1, show_default=True, help="Processes, one BLAS thread each."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


def read_problem(path: str | None, changes: dict[str, Any]) -> Problem:
    """Return the problem of the file and the options."""
    from onegrad.cli.options import build_problem

    return build_problem(None if path is None else Path(path), changes)


def single_samples(changes: dict[str, Any]) -> dict[str, Any]:
    """Return the options with --samples as one whole number."""
    from onegrad.describe.exceptions import InvalidInput

    if listed_samples(changes) is not None:
        raise InvalidInput("samples: must be one number here; predict takes a list")
    return changes


def whole_numbers(name: str, text: str) -> list[int]:
    """Return the whole numbers of a comma list."""
    from onegrad.describe.exceptions import InvalidInput

    numbers = parse_numbers(name, text)
    if not all(math.isfinite(number) and number == round(number) for number in numbers):
        raise InvalidInput(f"{name}={text!r}: must be whole numbers; correct it")
    return [round(number) for number in numbers]


def listed_samples(changes: dict[str, Any]) -> list[int] | None:
    """Take a comma list out of --samples; None when it is one number, which stays an option."""
    text = changes.pop("samples", None)
    if text is None:
        return None
    numbers = whole_numbers("samples", text)
    if len(numbers) == 1:
        changes["samples"] = numbers[0]
        return None
    return numbers
