"""onegrad simulate: train the network and its equivalent models."""

from __future__ import annotations

from typing import Any

import click

from onegrad.cli.common import (
    json_option,
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
from onegrad.cli.unused import note_uncapped, note_unused


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
    from onegrad.cli.building import build_problem
    from onegrad.cli.progress import WorkProgress
    from onegrad.verbs.foreseen import foresee_simulation
    from onegrad.verbs.simulation import simulate as run

    problem = build_problem(problem_file, options)
    if print_toml:
        print_problem(problem)
        return
    note_uncapped(models)
    note_unused("theory alone fits a mixture", "components_per_class", "fit_rank")
    how = {"trials": trials, "target_stderr": target_stderr, "seed": seed, "workers": workers}
    if only_plan:
        wanted = {name: value for name, value in how.items() if name != "workers"}
        tell_plan(foresee_simulation(problem, models, **wanted), workers)  # type: ignore[arg-type]
        return
    with WorkProgress("trials") as progress:
        errors = run(problem, models, progress=progress, **how)  # type: ignore[arg-type]
    show(errors, as_json=as_json)
