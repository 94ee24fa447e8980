"""The command of giant steps: steps takes them and prints what the network learns."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from onegrad.steps.result import StepsResult
    from onegrad.steps.steps_problem import StepsProblem

# (option, keyword arguments of click, field of the problem)
_OPTIONS: list[tuple[str, dict[str, Any], str]] = [
    ("--dimension", {"type": int, "help": "Input dimension d.  [default: 1024]"}, "dimension"),
    ("--width", {"type": int, "help": "Neurons p.  [default: 256]"}, "width"),
    (
        "--links",
        {
            "metavar": "FORMULAS",
            "help": "Comma list, one per direction: names or formulas in z and He0, He1, …, such "
            "as z+z**2,z-z**2.  [default: z]",
        },
        "teacher.links",
    ),
    (
        "--combine",
        {"help": "mean, sum, product or staircase of the links.  [default: mean]"},
        "teacher.combine",
    ),
    (
        "--noise",
        {"type": float, "help": "Deviation of label noise.  [default: 0]"},
        "teacher.noise",
    ),
    ("--steps", {"type": int, "help": "Steps T, each on a fresh batch.  [default: 1]"}, "steps"),
    ("--batch", {"type": int, "help": "Samples N of a batch.  [default: d]"}, "batch"),
    (
        "--batch-exponent",
        {"type": float, "help": "κ: N = d^κ."},
        "batch_exponent",
    ),
    ("--learning-rate", {"type": float, "help": "η itself."}, "step_size.learning_rate"),
    ("--per-width", {"type": float, "help": "c: η = c·p.  [default: 2]"}, "step_size.per_width"),
    ("--per-root", {"type": float, "help": "c: η = c√(Np)."}, "step_size.per_root"),
    ("--exponent", {"type": float, "help": "a: a step has norm d^a."}, "step_size.exponent"),
    (
        "--activation",
        {"help": "relu, tanh, … as for simulate.  [default: relu]"},
        "activation",
    ),
    (
        "--second-layer",
        {"help": "gaussian, sign or constant.  [default: gaussian]"},
        "second_layer",
    ),
    (
        "--subtract",
        {
            "help": "Part of the labels to take off, estimated on the batch: none, mean or linear."
            "  [default: none]"
        },
        "subtract",
    ),
    ("--readout", {"help": "On the same batch or a fresh one.  [default: same]"}, "readout"),
    ("--samples", {"type": int, "help": "Samples of a fresh readout.  [default: N]"}, "samples"),
    ("--ridge", {"type": float, "help": "λ of (1/2N)Σ(y − ŷ)² + (λ/2)‖w‖²."}, "ridge"),
    ("--penalty", {"type": float, "help": "Λ of Σ(y − ŷ)² + Λ‖w‖².  [default: 1]"}, "penalty"),
    ("--test-samples", {"type": int, "help": "Test points.  [default: 4096]"}, "test_samples"),
]
_FIELDS = {option.lstrip("-").replace("-", "_"): field for option, _, field in _OPTIONS}


def _problem_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option, settings, _ in reversed(_OPTIONS):
        command = click.option(option, **settings)(command)
    return click.argument("problem_file", required=False, metavar="[PROBLEM.toml]")(command)


@click.command()
@_problem_options
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--trial", type=int, default=0, show_default=True)
@click.option(
    "--state",
    metavar="FILE.npz",
    help="Keep the run's state there after every step; a killed run, or one of more --steps, "
    "continues from it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--neurons", is_flag=True, help="With --json: every neuron's overlaps too.")
@click.option("--print-toml", is_flag=True, help="Print the problem as TOML and stop.")
def steps(
    problem_file: str | None,
    seed: int,
    trial: int,
    state: str | None,
    as_json: bool,
    neurons: bool,
    print_toml: bool,
    **changes: Any,
) -> None:
    """Take giant gradient steps towards a teacher of several directions; print what is learned.

    The problem comes from PROBLEM.toml, from the options, or both: options win.
    """
    from onegrad.cli.progress import TrialProgress
    from onegrad.describe.toml import printed
    from onegrad.steps.take import take_steps

    problem = build_steps_problem(None if problem_file is None else Path(problem_file), changes)
    if print_toml:
        click.echo(printed(problem.model_dump()), nl=False)
        return
    with TrialProgress("steps") as progress:
        result = take_steps(problem, seed=seed, trial=trial, state=state, progress=progress.update)
    if as_json:
        click.echo(json.dumps(result.to_dict(neurons=neurons), allow_nan=False))
    else:
        _print(result)


def build_steps_problem(path: Path | None, options: dict[str, Any]) -> StepsProblem:
    """Return the problem of the file with the given options in place of its fields."""
    from onegrad.describe.toml import read_fields
    from onegrad.steps.steps_problem import StepSize, StepsProblem

    fields: dict[str, Any] = {} if path is None else read_fields(path)
    given = {name: value for name, value in options.items() if value is not None}
    rivals = StepsProblem.rivals | StepSize.rivals
    for name, value in given.items():
        outer, _, inner = _FIELDS[name].partition(".")
        held = fields.get(outer, {}) if inner else fields
        if not isinstance(held, dict):
            break  # the problem's own check says what is wrong
        held = dict(held) if inner else fields
        for rival in rivals.get(name, ()):
            if rival not in given:
                held.pop(rival, None)
        held[inner or outer] = value.split(",") if name == "links" else value
        if inner:
            fields[outer] = held
    return StepsProblem(**fields)


def _print(result: StepsResult) -> None:
    """Print one line per step."""
    from rich.table import Table

    from onegrad.cli.tables import print_rich, with_error

    problem, rank = result.problem, result.problem.teacher.rank
    direction = ", ".join(f"{v:.3g}" for v in result.first_direction)
    found = result.leap_index
    leap = f"none up to degree {result.leap_degree}" if found is None else str(found)
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
