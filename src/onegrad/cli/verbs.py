"""The commands that compute: simulate, predict, equivalence, tune, limit and steps."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from onegrad.cli.options import (
    build_problem,
    check_trials_option,
    checked_trials,
    draws_option,
    json_option,
    listed_samples,
    method_option,
    metric_option,
    models_option,
    note_not_tested,
    note_uncapped,
    note_unused,
    parse_numbers,
    plan_option,
    print_plan,
    print_problem,
    print_toml_option,
    problem_options,
    seed_option,
    show,
    single_samples,
    whole_numbers,
    workers_option,
)
from onegrad.describe.exceptions import InvalidInput

if TYPE_CHECKING:
    from onegrad.core.problem import Problem
    from onegrad.results.errors import Errors


@click.command()
@problem_options
@models_option("network, hermite, hermite:DEGREE, linear, conditional, untrained")
@click.option("--trials", type=int, help="Number of trials.  [default: 8]")
@click.option(
    "--target-stderr",
    type=float,
    metavar="FRACTION",
    help="Run until test_mse is known to this relative standard error.",
)
@seed_option
@workers_option
@plan_option
@json_option
@print_toml_option
def simulate(
    problem_file: str | None,
    models: str,
    trials: int | None,
    target_stderr: float | None,
    seed: int,
    workers: int,
    only_plan: bool,
    as_json: bool,
    print_toml: bool,
    **options: Any,
) -> None:
    """Train the network and its equivalent models; print their errors with standard errors.

    The problem comes from PROBLEM.toml, from the options, or both: options win.
    """
    from onegrad.cli.output import WorkProgress
    from onegrad.verbs.plan import plan_simulation
    from onegrad.verbs.simulate import simulate as run

    problem = build_problem(problem_file, options)
    if print_toml:
        print_problem(problem)
        return
    note_uncapped(models)
    note_unused("theory alone fits a mixture", "components_per_class", "fit_rank")
    how = {"trials": trials, "target_stderr": target_stderr, "seed": seed, "workers": workers}
    if only_plan:
        wanted = {name: value for name, value in how.items() if name != "workers"}
        print_plan(plan_simulation(problem, models, **wanted), workers)  # type: ignore[arg-type]
        return
    with WorkProgress("trials") as progress:
        errors = run(problem, models, progress=progress, **how)  # type: ignore[arg-type]
    show(errors, as_json=as_json)


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
    from onegrad.cli.output import WorkProgress
    from onegrad.verbs.plan import plan_prediction
    from onegrad.verbs.predict import check_method, predict_curve
    from onegrad.verbs.predict import predict as run

    check_method(method)
    problem, counts = _problem_and_samples(problem_file, options)
    if print_toml:
        print_problem(problem)
        return
    if only_plan:
        wanted: dict[str, Any] = {"method": method, "draws": draws, "samples": counts}
        print_plan(plan_prediction(problem, models, **wanted), workers)
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
    """Warn of the distance of theory from networks on rows that the fit has not seen."""
    from onegrad.verbs.fit_check import check_prediction

    if errors.problem.data.exact_moments or not trials or "network" not in errors.axes["model"]:
        return
    for check in check_prediction(errors, trials=trials, workers=workers):
        warnings.warn(str(check), stacklevel=1)


def _problem_and_samples(
    file: str | None, options: dict[str, Any]
) -> tuple[Problem, list[int] | None]:
    """Return the problem, and the numbers of samples if they are a list."""
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


@click.command()
@problem_options
@click.option("--degrees", default="1,2,3,4,5,6", show_default=True, metavar="NUMBERS")
@click.option(
    "--dimensions",
    metavar="NUMBERS",
    help="Comma list of n, samples and width in proportion: how the gap decays.",
)
@click.option(
    "--tolerance",
    type=float,
    default=0.01,
    show_default=True,
    help="Relative gap that counts as a match.",
)
@metric_option
@method_option
@draws_option
@seed_option
@workers_option
@plan_option
@json_option
def equivalence(
    problem_file: str | None,
    degrees: str,
    dimensions: str | None,
    only_plan: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Tell by theory which Hermite degree matches the network, beside the theorem's.

    With --dimensions also how the gap of each degree decays with n. Where a higher degree has a
    larger gap than a lower one, a sentence says why.
    """
    from onegrad.cli.output import WorkProgress
    from onegrad.verbs.equivalence import equivalence as run
    from onegrad.verbs.plan import plan_prediction

    names = ("tolerance", "metric", "method", "draws", "seed", "workers")
    how = {name: options.pop(name) for name in names}
    problem = build_problem(problem_file, single_samples(options))
    note_uncapped()
    note_not_tested(problem, method=how["method"])
    wanted = whole_numbers("degrees", degrees)
    sizes = None if dimensions is None else whole_numbers("dimensions", dimensions)
    if only_plan:
        models = ["network", *(f"hermite:{degree}" for degree in wanted)]
        planned = {name: how[name] for name in ("method", "draws")}
        print_plan(plan_prediction(problem, models, dimensions=sizes, **planned), how["workers"])
        return
    with WorkProgress("draws") as progress:
        gaps = run(problem, wanted, dimensions=sizes, progress=progress, **how)
    show(gaps, as_json=as_json)


@click.command()
@problem_options
@click.option(
    "--over",
    default="ridge,learning_rate,width",
    show_default=True,
    metavar="NAMES",
    help="Comma list: ridge, learning_rate, width.",
)
@click.option("--budget", type=int, help="Largest width.  [default: the problem's]")
@metric_option
@method_option
@draws_option
@seed_option
@workers_option
@check_trials_option
@plan_option
@json_option
def tune(
    problem_file: str | None,
    over: str,
    budget: int | None,
    only_plan: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Choose penalty, step size and width by theory; print them with the predicted curve."""
    from onegrad.cli.output import WorkProgress
    from onegrad.verbs.plan import plan_tuning
    from onegrad.verbs.tune import tune as run

    how = {name: options.pop(name) for name in ("metric", "method", "draws", "seed", "workers")}
    check = options.pop("check_trials")
    problem = build_problem(problem_file, single_samples(options))
    how["check_trials"] = checked_trials(problem, check)
    names = [name.strip() for name in over.split(",") if name.strip()]
    _check_searched(names, options, budget)
    note_uncapped()
    note_not_tested(problem, method=how["method"])
    if only_plan:
        wanted = {name: how[name] for name in ("method", "draws", "check_trials")}
        print_plan(plan_tuning(problem, names, budget=budget, **wanted), how["workers"])
        return
    with WorkProgress("predictions") as progress:
        tuned = run(problem, names, budget=budget, progress=progress, **how)
    if tuned.check is not None and tuned.check.poor and not as_json:
        tuned = replace(tuned, check=None)  # a warning has shown it
    show(tuned, as_json=as_json)


def _check_searched(names: list[str], options: dict[str, Any], budget: int | None) -> None:
    """Raise InvalidInput if a searched field has a value, or a fixed one a bound."""
    from onegrad.describe.numbers import shown

    for name in ("ridge", "penalty"):
        if "ridge" in names and options.get(name) is not None:
            raise InvalidInput(
                f"{name}={shown(options[name])}: the ridge is searched; leave it out, or take "
                "ridge out of --over"
            )
    if budget is not None and "width" not in names:
        raise InvalidInput(f"budget={budget}: bounds widths, none is searched; add width to --over")


@click.command()
@click.option("--activation", default="tanh", show_default=True, help="An odd activation.")
@click.option("--target", default="sin", show_default=True, help="Link function of the teacher.")
@click.option("--step-ratio", type=float, required=True, help="Samples of the step, m̃/n.")
@click.option("--rate", type=float, required=True, help="η̃ in F̂ = F + η̃kG.")
@click.option("--width-ratio", type=float, required=True, help="k/n.")
@click.option("--sample-ratio", required=True, metavar="NUMBERS", help="m/n, or a comma list.")
@click.option(
    "--ridge", type=float, required=True, help="λ in that work's convention; ours is λ/m."
)
@json_option
def limit(activation: str, target: str, sample_ratio: str, as_json: bool, **numbers: Any) -> None:
    """Errors in the limit at maximal rate (Cui et al.), as published and corrected."""
    from onegrad.theory.maximal_rate import maximal_rate_limit

    ratios = parse_numbers("sample-ratio", sample_ratio)
    errors = maximal_rate_limit(activation, target, sample_ratio=ratios, **numbers)
    show(errors, as_json=as_json)


@click.command()
@problem_options
@click.option("--trials", default=4, show_default=True, help="Number of trials.")
@seed_option
@workers_option
@plan_option
@json_option
@click.option("--neurons", is_flag=True, help="With --json: every neuron's overlaps too.")
@print_toml_option
def steps(
    problem_file: str | None,
    trials: int,
    seed: int,
    workers: int,
    only_plan: bool,
    as_json: bool,
    neurons: bool,
    print_toml: bool,
    **options: Any,
) -> None:
    """Take the steps of a problem; print overlaps, angles, spectra and spikes after each.

    The problem comes from PROBLEM.toml, from the options, or both: options win.
    """
    from onegrad.cli.output import WorkProgress, print_table
    from onegrad.results.best_constant import best_constant
    from onegrad.results.steps import steps_table
    from onegrad.verbs.plan import plan_steps
    from onegrad.verbs.simulate import simulate

    problem = build_problem(problem_file, options)
    if print_toml:
        print_problem(problem)
        return
    note_uncapped()
    note_unused("theory alone fits a mixture", "components_per_class", "fit_rank")
    if neurons and not as_json:
        raise InvalidInput("neurons: are printed with --json alone; add it")
    if only_plan:
        print_plan(plan_steps(problem, trials=trials), workers)
        return
    with WorkProgress("trials") as progress:
        runs = simulate(
            problem,
            ["network"],
            trials=trials,
            seed=seed,
            workers=workers,
            observe=True,
            progress=progress,
        ).runs
    if as_json:
        shown = [run.to_dict(neurons=neurons) for run in runs]
        whole = {"problem": problem.to_dict(), "seed": seed, "trials": len(runs), "runs": shown}
        click.echo(json.dumps(whole, allow_nan=False))
    else:
        constant = best_constant(problem, seed=seed, trials=len(runs)).get("test_mse")
        print_table(steps_table(runs, constant=constant))
