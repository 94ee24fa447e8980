"""onegrad steps: train the first layer step by step and print what the network learns."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from onegrad.diagnostics.records import StepsResult
    from onegrad.problem.problem import Problem

DEFAULT_TRIALS = 4


@click.command()
@problem_options
@click.option("--trials", type=int, help=f"Trials.  [default: {DEFAULT_TRIALS}, with --state 1]")
@seed_option
@workers_option
@click.option(
    "--state",
    metavar="FILE.npz",
    help="Keep the state of a single trial there after every step; a killed run, or one of more "
    "--steps, continues from it.",
)
@plan_option
@json_option
@click.option("--neurons", is_flag=True, help="With --json: every neuron's overlaps too.")
@print_toml_option
def steps(
    problem_file: str | None,
    trials: int | None,
    seed: int,
    workers: int,
    state: str | None,
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
    from onegrad.cli.tables import print_table
    from onegrad.describe.exceptions import InvalidInput
    from onegrad.diagnostics.steps_table import steps_table
    from onegrad.verbs.best_constant import best_constant
    from onegrad.verbs.foreseen import foresee_steps

    problem = build_problem(problem_file, options)
    if print_toml:
        print_problem(problem)
        return
    note_uncapped()
    note_unused("theory alone fits a mixture", "components_per_class", "fit_rank")
    if state is not None:
        note_unused("a state holds one trial, which one process runs", "workers")
    if neurons and not as_json:
        raise InvalidInput("neurons: are printed with --json alone; add it")
    if only_plan:
        default = DEFAULT_TRIALS if state is None else 1
        tell_plan(foresee_steps(problem, trials=default if trials is None else trials), workers)
        return
    runs = _observed(problem, trials, seed, workers, state)
    if as_json:
        shown = [run.to_dict(neurons=neurons) for run in runs]
        whole = {"problem": problem.to_dict(), "seed": seed, "trials": len(runs), "runs": shown}
        click.echo(json.dumps(whole, allow_nan=False))
    else:
        constant = best_constant(problem, seed=seed, trials=len(runs)).get("test_mse")
        print_table(steps_table(runs, constant=constant))


def _observed(
    problem: Problem, trials: int | None, seed: int, workers: int, state: str | None
) -> tuple[StepsResult, ...]:
    """Return the observed runs; with a state file one, which may go on from it."""
    from onegrad.cli.progress import WorkProgress
    from onegrad.describe.exceptions import InvalidInput
    from onegrad.verbs.observation import take_steps
    from onegrad.verbs.simulation import simulate

    if state is None:
        with WorkProgress("trials") as progress:
            errors = simulate(
                problem,
                ["network"],
                trials=DEFAULT_TRIALS if trials is None else trials,
                seed=seed,
                workers=workers,
                observe=True,
                progress=progress,
            )
        return errors.runs
    if trials not in (None, 1):
        raise InvalidInput(f"state={state!r}: holds one trial, trials={trials}; leave one out")
    with WorkProgress("steps") as progress:
        return (take_steps(problem, seed=seed, state=state, progress=progress),)
