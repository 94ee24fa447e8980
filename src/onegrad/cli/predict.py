"""onegrad predict: the errors by theory."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

import click

from onegrad.cli.common import (
    draws_option,
    json_option,
    listed_samples,
    read_problem,
    seed_option,
    workers_option,
)
from onegrad.cli.options import problem_options

if TYPE_CHECKING:
    pass


@click.command()
@problem_options
@click.option(
    "--models",
    default="network,hermite",
    show_default=True,
    metavar="NAMES",
    help="Comma list: network, hermite, hermite:DEGREE, linear, untrained.",
)
@click.option(
    "--method",
    default="single",
    show_default=True,
    help="single, or full_types for training errors at strong spikes or steps.",
)
@draws_option
@seed_option
@workers_option
@json_option
@click.option("--print-toml", is_flag=True, help="Print the problem as TOML and stop.")
def predict(
    problem_file: str | None,
    models: str,
    method: str,
    draws: int,
    seed: int,
    workers: int,
    as_json: bool,
    print_toml: bool,
    **changes: Any,
) -> None:
    """Predict the errors: nothing is trained, nothing tested.

    A comma list for --samples or --ridge gives the whole curve at the price of one point. Along a
    list of samples, width and step samples stay fixed: give --width and --step-samples, or those of
    the problem file hold. Nothing is classified or sampled: misclassification is not predicted.
    """
    from onegrad.cli.progress import TrialProgress
    from onegrad.cli.tables import print_table
    from onegrad.describe.exceptions import InvalidInput
    from onegrad.describe.toml import printed
    from onegrad.verbs.prediction import check_method, predict_curve
    from onegrad.verbs.prediction import predict as run

    counts = listed_samples(changes)
    check_method(method)
    if counts is not None and changes["data"] is not None:
        changes["samples"] = max(counts)  # real data must have rows for the default of 1000, else
    problem = read_problem(problem_file, changes)
    if print_toml:
        click.echo(printed(problem.model_dump()), nl=False)
        return
    if counts is not None and (changes["width"] is None or changes["step_samples"] is None):
        warnings.warn(
            f"samples is a list: width={problem.width} and step_samples="
            f"{problem.samples_per_step} stay fixed along it",
            stacklevel=1,
        )
    names = models.split(",")
    with TrialProgress("draws") as progress:
        common = {
            "draws": draws,
            "seed": seed,
            "workers": workers,
            "progress": progress.update,
        }
        if counts is None:
            errors = run(problem, names, method=method, **common)  # type: ignore[arg-type]
        elif method != "single":
            raise InvalidInput(f"method={method!r}: a curve needs method single; leave it out")
        else:
            errors = predict_curve(problem, samples=counts, models=names, **common)  # type: ignore[arg-type]
    if as_json:
        click.echo(json.dumps(errors.to_dict(), allow_nan=False))
    else:
        print_table(errors)
