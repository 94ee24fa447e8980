"""Options, readers and writers that several commands share."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import click

from onegrad.cli.options import parse_numbers
from onegrad.verbs.methods import DEFAULT_METHOD


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
    "types.",
)
seed_option = click.option("--seed", type=int, default=0, show_default=True)
workers_option = click.option(
    "--workers",
    type=int,
    default=1,
    show_default=True,
    help="Processes, one BLAS thread each; the numbers do not depend on it.",
)
check_trials_option = click.option(
    "--check-trials",
    type=int,
    help="Real data: networks trained to check theory on the fitted mixture; 0 for none.  "
    "[default: 16]",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
plan_option = click.option(
    "--plan", "only_plan", is_flag=True, help="Tell what is computed, time and memory, and stop."
)
print_toml_option = click.option(
    "--print-toml", is_flag=True, help="Print the problem as TOML and stop."
)


def checked_trials(problem: Any, trials: int | None) -> int:
    """Return how many networks check theory on real data."""
    from onegrad.describe.checks import whole_number
    from onegrad.describe.exceptions import InvalidInput
    from onegrad.verbs.fit_check import CHECK_TRIALS

    if trials is None:
        return CHECK_TRIALS
    if problem.data.exact_moments:
        raise InvalidInput(f"check_trials={trials}: belongs to real data; leave it out")
    return whole_number("check_trials", trials, least=0)


def tell_plan(foreseen: Any, workers: int) -> None:
    """Say on standard error what a command would take, or why it does not fit this machine."""
    click.echo(f"onegrad: {foreseen.checked(workers).said(workers)}", err=True)


def print_problem(problem: Any) -> None:
    """Print a problem as one TOML text."""
    from onegrad.describe.toml import printed

    click.echo(printed(problem.model_dump()), nl=False)


def show(result: Any, *, as_json: bool) -> None:
    """Print a result: one JSON object, or the table that it shows of itself."""
    if as_json:
        click.echo(json.dumps(result.to_dict(), allow_nan=False))
    else:
        from onegrad.cli.tables import print_result

        print_result(result)


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
