"""onegrad predict: the errors by theory."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import click

from onegrad.cli.common import (
    check_trials_option,
    checked_trials,
    draws_option,
    json_option,
    listed_samples,
    method_option,
    models_option,
    plan_option,
    print_problem,
    print_toml_option,
    seed_option,
    show,
    tell_plan,
    workers_option,
)
from onegrad.cli.options import problem_options
from onegrad.cli.unused import note_not_tested, note_uncapped

if TYPE_CHECKING:
    from onegrad.problem.problem import Problem
    from onegrad.verbs.errors import Errors


@click.command()
@problem_options
@models_option("network, hermite, hermite:DEGREE, linear, untrained")
@method_option
@draws_option
@seed_option
@workers_option
@check_trials_option
@plan_option
@json_option
@print_toml_option
def predict(
    problem_file: str | None,
    models: str,
    method: str,
    draws: int,
    seed: int,
    workers: int,
    check_trials: int | None,
    only_plan: bool,
    as_json: bool,
    print_toml: bool,
    **options: Any,
) -> None:
    """Predict the errors: nothing is trained, nothing tested.

    A comma list for --samples or --ridge gives the whole curve at the price of one point. Along a
    list of samples, width and step samples stay fixed: give --width and --step-samples, or those of
    the problem file hold.
    """
    from onegrad.cli.progress import WorkProgress
    from onegrad.verbs.foreseen import foresee_prediction
    from onegrad.verbs.prediction import check_method, predict_curve
    from onegrad.verbs.prediction import predict as run

    check_method(method)
    problem, counts = _problem_and_samples(problem_file, options)
    if print_toml:
        print_problem(problem)
        return
    if only_plan:
        wanted: dict[str, Any] = {"method": method, "draws": draws, "samples": counts}
        tell_plan(foresee_prediction(problem, models, **wanted), workers)
        return
    checks = checked_trials(problem, check_trials)
    note_uncapped(models)
    note_not_tested(problem, method=method)
    how: dict[str, Any] = {"models": models, "draws": draws, "seed": seed, "workers": workers}
    how["method"] = method
    with WorkProgress("draws") as progress:
        how["progress"] = progress
        if counts is None:
            errors = run(problem, **how)
        else:
            errors = predict_curve(problem, samples=counts, **how)
    show(errors, as_json=as_json)
    _say_check(errors, checks, workers)


def _say_check(errors: Errors, trials: int, workers: int) -> None:
    """Say on standard error how far theory is from networks on rows that the fit has not seen."""
    from onegrad.verbs.fit_check import check_prediction

    if errors.problem.data.exact_moments or not trials or "network" not in errors.axes["model"]:
        return
    for check in check_prediction(errors, trials=trials, workers=workers):
        warnings.warn(str(check), stacklevel=1)


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
