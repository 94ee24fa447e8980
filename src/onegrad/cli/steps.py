"""onegrad steps: train the first layer step by step and print what the network learns."""

from __future__ import annotations

import json
from typing import Any

import click

from onegrad.cli.common import (
    json_option,
    plan_option,
    print_problem,
    print_toml_option,
    seed_option,
    tell_plan,
    workers_option,
)
from onegrad.cli.options import problem_options
from onegrad.cli.unused import note_uncapped, note_unused


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
    from onegrad.cli.building import build_problem
    from onegrad.cli.progress import WorkProgress
    from onegrad.cli.tables import print_table
    from onegrad.describe.exceptions import InvalidInput
    from onegrad.diagnostics.steps_table import steps_table
    from onegrad.verbs.best_constant import best_constant
    from onegrad.verbs.foreseen import foresee_steps
    from onegrad.verbs.simulation import simulate

    problem = build_problem(problem_file, options)
    if print_toml:
        print_problem(problem)
        return
    note_uncapped()
    note_unused("theory alone fits a mixture", "components_per_class", "fit_rank")
    if neurons and not as_json:
        raise InvalidInput("neurons: are printed with --json alone; add it")
    if only_plan:
        tell_plan(foresee_steps(problem, trials=trials), workers)
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
