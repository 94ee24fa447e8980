"""Commands of the theory: predict, equivalence, tune, limit."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onegrad.options import parse_numbers, problem_options

if TYPE_CHECKING:
    from onegrad.problem import Problem

_draws = click.option(
    "--draws", type=int, default=4, show_default=True, help="Draws of F, w and the step's batch."
)
_seed = click.option("--seed", type=int, default=0, show_default=True)
_workers = click.option(
    "--workers", type=int, default=1, show_default=True, help="Processes, one BLAS thread each."
)
_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


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
    help="single, or conditional for training errors at strong spikes or steps.",
)
@_draws
@_seed
@_workers
@_json
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
    from onegrad.problem_file import printed
    from onegrad.progress import TrialProgress
    from onegrad.report import print_table
    from onegrad.theory.prediction import predict as run
    from onegrad.theory.prediction import predict_curve
    from onegrad.validation import InvalidInput

    counts = _counts(changes)
    if method not in ("single", "conditional"):
        raise InvalidInput(f"method={method!r}: must be single or conditional; choose one")
    if counts is not None and changes["data"] is not None:
        changes["samples"] = max(counts)  # real data must have rows for the default of 1000, else
    problem = _problem(problem_file, changes)
    if print_toml:
        click.echo(printed(problem), nl=False)
        return
    if counts is not None and (changes["width"] is None or changes["step_samples"] is None):
        warnings.warn(
            f"samples is a list: width={problem.width} and step_samples={problem.step_size} stay "
            "fixed along it",
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


@click.command()
@problem_options
@click.option("--degrees", default="1,2,3,4,5,6", show_default=True, metavar="NUMBERS")
@click.option(
    "--tolerance",
    type=float,
    default=0.01,
    show_default=True,
    help="Relative gap that counts as a match.",
)
@_draws
@_seed
@_workers
@_json
def equivalence(
    problem_file: str | None,
    degrees: str,
    tolerance: float,
    draws: int,
    seed: int,
    workers: int,
    as_json: bool,
    **changes: Any,
) -> None:
    """Tell by theory which Hermite degree matches the network, beside the theorem's."""
    from rich.table import Table

    from onegrad.progress import TrialProgress
    from onegrad.report import percent, print_rich
    from onegrad.theory.equivalence import equivalence as run

    problem = _problem(problem_file, _single(changes))
    wanted = _whole_numbers("degrees", degrees)
    with TrialProgress("draws") as progress:
        found = run(
            problem,
            wanted,
            tolerance=tolerance,
            draws=draws,
            seed=seed,
            workers=workers,
            progress=progress.update,
        )
    if as_json:
        click.echo(json.dumps(found.to_dict(), allow_nan=False))
        return
    smallest = "none of these" if found.smallest is None else str(found.smallest)
    caption = (
        f"smallest degree within {100 * tolerance:g} %: {smallest}; the theorem's degree at "
        f"β = {found.strength:.3g}: {found.theorem or 'none, it covers β < 1'}; {draws} draws, "
        f"seed {seed}, nothing trained"
    )
    table = Table("degree", "gap to network", "matches", caption=caption, caption_justify="left")
    for degree, gap, stderr in zip(found.degrees, found.gaps, found.stderrs, strict=True):
        match = "yes" if abs(gap) <= tolerance else "no"
        table.add_row(str(degree), percent(gap, stderr), match)
    print_rich(table)


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
@_draws
@_seed
@_workers
@_json
def tune(
    problem_file: str | None,
    over: str,
    budget: int | None,
    draws: int,
    seed: int,
    workers: int,
    as_json: bool,
    **changes: Any,
) -> None:
    """Choose penalty, step size and width by theory; print them with the predicted curve."""
    from rich.table import Table

    from onegrad.progress import TrialProgress
    from onegrad.report import print_rich, with_error
    from onegrad.theory.tuning import tune as run

    problem = _problem(problem_file, _single(changes))
    names = [name.strip() for name in over.split(",") if name.strip()]
    with TrialProgress("predictions") as progress:
        found = run(
            problem,
            names,
            budget=budget,
            draws=draws,
            seed=seed,
            workers=workers,
            progress=progress.update,
        )
    if as_json:
        click.echo(json.dumps(found.to_dict(), allow_nan=False))
        return
    chosen = ", ".join(f"{name} = {value:.4g}" for name, value in found.values.items())
    caption = (
        f"best: {chosen}; predicted test MSE {with_error(found.test_mse, found.stderr)} over "
        f"{draws} draws, seed {seed}; the ten best of {len(found.curve)} predictions"
    )
    table = Table(
        "width", "learning rate", "ridge", "test MSE", caption=caption, caption_justify="left"
    )
    for row in found.curve.sort_values("test_mse").head(10).itertuples(index=False):
        table.add_row(
            f"{row.width}", f"{row.learning_rate:.4g}", f"{row.ridge:.2e}", f"{row.test_mse:.5f}"
        )
    print_rich(table)


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
@_json
def limit(
    activation: str,
    target: str,
    step_ratio: float,
    rate: float,
    width_ratio: float,
    sample_ratio: str,
    ridge: float,
    as_json: bool,
) -> None:
    """Errors in the limit at maximal rate (Cui et al.), as published and corrected."""
    from rich.table import Table

    from onegrad.report import print_rich
    from onegrad.theory.limit import maximal_rate_limit

    found = maximal_rate_limit(
        activation,
        target,
        step_ratio=step_ratio,
        rate=rate,
        width_ratio=width_ratio,
        sample_ratio=parse_numbers("sample-ratio", sample_ratio),
        ridge=ridge,
    )
    if as_json:
        click.echo(json.dumps(found.to_dict(), allow_nan=False))
        return
    table = Table(
        "m/n", "test MSE, published", "corrected", "train MSE, published", "corrected", "iterations"
    )
    for ratio, old, new in zip(found.sample_ratios, found.published, found.corrected, strict=True):
        table.add_row(
            f"{ratio:g}",
            f"{old.test_mse:.6f}",
            f"{new.test_mse:.6f}",
            f"{old.train_mse:.6f}",
            f"{new.train_mse:.6f}",
            f"{old.iterations}, {new.iterations}",
        )
    print_rich(table)


def _problem(path: str | None, changes: dict[str, Any]) -> Problem:
    from onegrad.options import build_problem

    return build_problem(None if path is None else Path(path), changes)


def _counts(changes: dict[str, Any]) -> list[int] | None:
    """Take a comma list out of --samples; None when it is one number, which stays an option."""
    text = changes.pop("samples", None)
    if text is None:
        return None
    numbers = _whole_numbers("samples", text)
    if len(numbers) == 1:
        changes["samples"] = numbers[0]
        return None
    return numbers


def _single(changes: dict[str, Any]) -> dict[str, Any]:
    """Return the options with --samples as one whole number."""
    from onegrad.validation import InvalidInput

    if _counts(changes) is not None:
        raise InvalidInput("samples: must be one number here; predict takes a list")
    return changes


def _whole_numbers(name: str, text: str) -> list[int]:
    from onegrad.validation import InvalidInput

    numbers = parse_numbers(name, text)
    if not all(math.isfinite(number) and number == round(number) for number in numbers):
        raise InvalidInput(f"{name}={text!r}: must be whole numbers; correct it")
    return [round(number) for number in numbers]
