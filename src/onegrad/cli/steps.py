"""onegrad steps: take giant steps and print what the network learns."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from onegrad.cli.common import json_option, print_problem, print_toml_option, seed_option
from onegrad.cli.options import steps_options

if TYPE_CHECKING:
    from onegrad.steps.result import StepsResult


@click.command()
@steps_options
@seed_option
@click.option("--trial", type=int, default=0, show_default=True)
@click.option(
    "--state",
    metavar="FILE.npz",
    help="Keep the run's state there after every step; a killed run, or one of more --steps, "
    "continues from it.",
)
@json_option
@click.option("--neurons", is_flag=True, help="With --json: every neuron's overlaps too.")
@print_toml_option
def steps(
    problem_file: str | None,
    seed: int,
    trial: int,
    state: str | None,
    as_json: bool,
    neurons: bool,
    print_toml: bool,
    **options: Any,
) -> None:
    """Take giant gradient steps towards a teacher of several directions; print what is learned.

    The problem comes from PROBLEM.toml, from the options, or both: options win.
    """
    from onegrad.cli.building import build_steps_problem
    from onegrad.cli.progress import WorkProgress
    from onegrad.steps.take import take_steps

    problem = build_steps_problem(problem_file, options)
    if print_toml:
        print_problem(problem)
        return
    with WorkProgress("steps") as progress:
        result = take_steps(problem, seed=seed, trial=trial, state=state, progress=progress.update)
    if as_json:
        click.echo(json.dumps(result.to_dict(neurons=neurons), allow_nan=False))
    else:
        _print(result)


def _print(result: StepsResult) -> None:
    """Print one line per step."""
    from rich.table import Table

    from onegrad.cli.tables import print_rich, with_error

    problem, rank = result.problem, result.problem.teacher.rank
    direction = ", ".join(f"{v:.3g}" for v in result.first_direction)
    leap = str(result.leap_index)
    if result.leap_index is None:
        leap = f"none up to degree {result.leap_degree}"
    shown = Table(
        caption=f"d = {problem.dimension}, p = {problem.width}, N = {problem.batch_size}, "
        f"{problem.activation}; teacher {' | '.join(problem.teacher.links)} "
        f"({problem.teacher.combine}): first direction ({direction}), leap index {leap}; "
        f"noise radius {result.noise_radius:.3f}; seed {result.seed}, trial "
        f"{result.trial}. Angles are medians in degrees to the first direction's line; rank: "
        "singular values of the weight change outside its bulk; spikes: of the features, outside "
        "theirs. --json has the rest.",
        caption_justify="left",
    )
    for title in ("step", "test MSE", "angle g", "angle w", "outside g"):
        shown.add_column(title, justify="right")
    shown.add_column("overlap w" if rank == 1 else f"overlaps w 1…{rank}", justify="right")
    for title in ("rank", "spikes", "predicted"):
        shown.add_column(title, justify="right")
    for record in result.records:
        gradient, change, spikes = record.gradient, record.change_spectrum, record.features
        shown.add_row(
            str(record.step),
            with_error(record.test_mse, record.test_stderr),
            _degrees(None if gradient is None else gradient.angle),
            _degrees(record.weights.angle),
            "" if gradient is None else f"{100 * gradient.outside:.1f} %",
            " ".join(f"{value:.3f}" for value in record.weights.strength),
            "" if change is None else _count(change.rank),
            _count(spikes.observed),
            "" if spikes.predicted is None or change is None else str(len(spikes.predicted)),
        )
    print_rich(shown)


def _degrees(angle: float | None) -> str:
    return "" if angle is None else f"{angle:.1f}°"


def _count(outliers: int | None) -> str:
    from onegrad.steps.spectra import MOST_OUTLIERS

    if outliers is None:
        return "–"
    return f"≥ {outliers}" if outliers == MOST_OUTLIERS else str(outliers)
