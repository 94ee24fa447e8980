"""Options, readers and writers that several commands share."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import click

from onegrad.cli.options import parse_numbers
from onegrad.verbs.methods import DEFAULT_METHOD

R = TypeVar("R", bound="Result")


class Result(Protocol):
    """What a verb returns: something with plain values."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""


def models_option(names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option that chooses models; `names` are those that make sense here."""
    return click.option(
        "--models",
        default="network,hermite",
        show_default=True,
        metavar="NAMES",
        help=f"Comma list: {names}.",
    )


draws_option = click.option(
    "--draws", type=int, default=4, show_default=True, help="Draws of F, w and the steps' batches."
)
metric_option = click.option(
    "--metric",
    default="test_mse",
    show_default=True,
    help="test_mse; misclassification where labels are signs; test_loss of a --loss.",
)
method_option = click.option(
    "--method",
    default=DEFAULT_METHOD,
    show_default=True,
    help="types; closed without draws, in milliseconds; auto is closed where it is sure, else "
    "types; full_types with a covariance for each type; single treats all samples alike.",
)
seed_option = click.option("--seed", type=int, default=0, show_default=True)
workers_option = click.option(
    "--workers",
    type=int,
    default=1,
    show_default=True,
    help="Processes, one BLAS thread each; the numbers do not depend on it.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
print_toml_option = click.option(
    "--print-toml", is_flag=True, help="Print the problem as TOML and stop."
)


def print_problem(problem: Any) -> None:
    """Print a problem as one TOML text."""
    from onegrad.describe.toml import printed

    click.echo(printed(problem.model_dump()), nl=False)


def show(result: R, print_table: Callable[[R], None], *, as_json: bool) -> None:
    """Print a result: one JSON object, or a table."""
    if as_json:
        click.echo(json.dumps(result.to_dict(), allow_nan=False))
    else:
        print_table(result)


def whole_numbers(name: str, text: object) -> list[int]:
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


def single_samples(changes: dict[str, Any]) -> dict[str, Any]:
    """Return the options with --samples as one whole number."""
    from onegrad.describe.exceptions import InvalidInput

    if listed_samples(changes) is not None:
        raise InvalidInput("samples: must be one number here; predict takes a list")
    return changes
