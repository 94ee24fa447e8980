"""onegrad steps: train the first layer step by step and print what the network learns."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from onegrad.cli.common import (
    json_option,
    print_problem,
    print_toml_option,
    seed_option,
    workers_option,
)
from onegrad.cli.options import problem_options

if TYPE_CHECKING:
    import pandas as pd

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
@json_option
@click.option("--neurons", is_flag=True, help="With --json: every neuron's overlaps too.")
@print_toml_option
def steps(
    problem_file: str | None,
    trials: int | None,
    seed: int,
    workers: int,
    state: str | None,
    as_json: bool,
    neurons: bool,
    print_toml: bool,
    **options: Any,
) -> None:
    """Take the steps of a problem; print overlaps, angles, spectra and spikes after each.

    The problem comes from PROBLEM.toml, from the options, or both: options win.
    """
    from onegrad.cli.building import build_problem

    problem = build_problem(problem_file, options)
    if print_toml:
        print_problem(problem)
        return
    runs = _observed(problem, trials, seed, workers, state)
    if as_json:
        shown = [run.to_dict(neurons=neurons) for run in runs]
        whole = {"problem": problem.to_dict(), "seed": seed, "trials": len(runs), "runs": shown}
        click.echo(json.dumps(whole, allow_nan=False))
    else:
        _print(runs)


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
                progress=progress.update,
            )
        return errors.runs
    if trials not in (None, 1):
        raise InvalidInput(f"state={state!r}: holds one trial, trials={trials}; leave one out")
    with WorkProgress("steps") as progress:
        return (take_steps(problem, seed=seed, state=state, progress=progress.update),)


def _print(runs: tuple[StepsResult, ...]) -> None:
    """Print one line per step, means over trials."""
    from rich.table import Table

    from onegrad.cli.tables import print_rich

    means, errors = _summary(runs)
    overlaps = [str(name) for name in means if str(name).startswith("weight_overlap")]
    shown = Table(caption=_caption(runs), caption_justify="left")
    for title in ("step", "test MSE", "angle g", "angle w", "outside g"):
        shown.add_column(title, justify="right")
    if overlaps:
        many = len(overlaps) > 1
        shown.add_column(f"overlaps w 1…{len(overlaps)}" if many else "overlap w", justify="right")
    for title in ("rank", "spikes", "predicted"):
        shown.add_column(title, justify="right")
    for (_, mean), (_, error) in zip(means.iterrows(), errors.iterrows(), strict=True):
        shown.add_row(*_cells(mean, error, overlaps))
    print_rich(shown)


def _summary(runs: tuple[StepsResult, ...]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return mean and standard error of every column, a line per step."""
    import pandas as pd

    frames = pd.concat([run.to_frame() for run in runs]).astype(float)
    by_step = frames.groupby("step")
    return by_step.mean(), by_step.sem()


def _cells(means: pd.Series, errors: pd.Series, overlaps: list[str]) -> list[str]:
    """Return the line of one step."""
    from onegrad.cli.tables import with_error

    def number(name: str, form: str, unit: str = "", factor: float = 1.0) -> str:
        mean = factor * float(means[name])
        return "" if mean != mean else f"{mean:{form}}{unit}"  # NaN: there is none

    cells = [
        f"{means.name:g}",
        with_error(float(means["test_mse"]), float(errors["test_mse"])),
        number("gradient_angle", ".1f", "°"),
        number("weight_angle", ".1f", "°"),
        number("gradient_outside", ".1f", " %", 100.0),
    ]
    if overlaps:
        cells.append(" ".join(number(name, ".3f") for name in overlaps))
    return [*cells, *(number(n, ".3g") for n in ("change_rank", "spikes", "predicted_spikes"))]


def _caption(runs: tuple[StepsResult, ...]) -> str:
    first = runs[0]
    problem, count = first.problem, len(runs)
    line = ", ".join(f"{v:.3g}" for v in first.first_direction)
    leap = ""
    if first.leap_degree:
        index = first.leap_index
        leap = (
            f", leap index {f'none up to degree {first.leap_degree}' if index is None else index}"
        )
    return (
        f"n = {problem.dimension}, k = {problem.width}, N = {problem.samples_per_step}, "
        f"{problem.network.activation}, rule {problem.training.rule}; first direction ({line})"
        f"{leap}; noise radius {first.noise_radius:.3f}; {count} trial{'s' if count > 1 else ''}, "
        f"seed {first.seed}, ± standard error. Angles are medians in degrees to the first "
        "direction's line; rank: singular values of the weight change outside its bulk; spikes: of "
        "the features, outside theirs. --json has the rest."
    )
