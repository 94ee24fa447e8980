"""onegrad predict: the errors by theory."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import click

from onegrad.cli.common import (
    draws_option,
    json_option,
    listed_samples,
    method_option,
    models_option,
    print_problem,
    print_toml_option,
    seed_option,
    show,
    workers_option,
)
from onegrad.cli.options import problem_options

if TYPE_CHECKING:
    from onegrad.problem.problem import Problem


@click.command()
@problem_options
@models_option("network, hermite, hermite:DEGREE, linear, untrained")
@method_option
@draws_option
@seed_option
@workers_option
@json_option
@print_toml_option
def predict(
    problem_file: str | None,
    models: str,
    method: str,
    draws: int,
    seed: int,
    workers: int,
    as_json: bool,
    print_toml: bool,
    **options: Any,
) -> None:
    """Predict the errors: nothing is trained, nothing tested.

    A comma list for --samples or --ridge gives the whole curve at the price of one point. Along a
    list of samples, width and step samples stay fixed: give --width and --step-samples, or those of
    the problem file hold.
    """
    from onegrad.cli.error_tables import print_table
    from onegrad.cli.progress import WorkProgress
    from onegrad.verbs.prediction import check_method, predict_curve
    from onegrad.verbs.prediction import predict as run

    check_method(method)
    problem, counts = _problem_and_samples(problem_file, options)
    if print_toml:
        print_problem(problem)
        return
    how: dict[str, Any] = {"models": models, "draws": draws, "seed": seed, "workers": workers}
    how["method"] = method
    with WorkProgress("draws") as progress:
        how["progress"] = progress.update
        if counts is None:
            errors = run(problem, **how)
        else:
            errors = predict_curve(problem, samples=counts, **how)
    show(errors, print_table, as_json=as_json)


def _problem_and_samples(
    file: str | None, options: dict[str, Any]
) -> tuple[Problem, list[int] | None]:
    """Return the problem, and the numbers of samples where they are a list."""
    from onegrad.cli.building import build_problem

    counts = listed_samples(options)
    if counts is not None and options["data"] is not None:
        options["samples"] = max(counts)  # real data must have rows for the default of 1000, else
    problem = build_problem(file, options)
    if counts is not None and (options["width"] is None or options["step_samples"] is None):
        warnings.warn(
            f"samples is a list: width={problem.width} and training.samples="
            f"{problem.samples_per_step} stay fixed along it",
            stacklevel=1,
        )
    return problem, counts
