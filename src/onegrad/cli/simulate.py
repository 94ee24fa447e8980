"""onegrad simulate: train the network and its equivalent models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from onegrad.cli.options import problem_options

DEFAULT_MODELS = "network,hermite"


@click.command()
@problem_options
@click.option(
    "--models",
    default=DEFAULT_MODELS,
    show_default=True,
    metavar="NAMES",
    help="Comma list: network, hermite, hermite:DEGREE, linear, conditional, untrained.",
)
@click.option("--trials", type=int, help="Number of trials.  [default: 8]")
@click.option(
    "--target-stderr",
    type=float,
    metavar="FRACTION",
    help="Run until test_mse is known to this relative standard error.",
)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option(
    "--workers",
    type=int,
    default=1,
    show_default=True,
    help="Processes, one BLAS thread each; the numbers do not depend on it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--print-toml", is_flag=True, help="Print the problem as TOML and stop.")
def simulate(
    problem_file: str | None,
    models: str,
    trials: int | None,
    target_stderr: float | None,
    seed: int,
    workers: int,
    as_json: bool,
    print_toml: bool,
    **changes: Any,
) -> None:
    """Train the network and its equivalent models; print their errors with standard errors.

    The problem comes from PROBLEM.toml, from the options, or both: options win.
    """
    from onegrad.cli.options import build_problem
    from onegrad.cli.progress import TrialProgress
    from onegrad.cli.tables import print_table
    from onegrad.verbs.simulation import simulate as run

    problem = build_problem(None if problem_file is None else Path(problem_file), changes)
    if print_toml:
        from onegrad.describe.toml import printed

        click.echo(printed(problem.model_dump()), nl=False)
        return
    names = models.split(",")
    with TrialProgress() as progress:
        errors = run(
            problem,
            names,
            trials=trials,
            target_stderr=target_stderr,
            seed=seed,
            workers=workers,
            progress=progress.update,
        )
    if as_json:
        click.echo(json.dumps(errors.to_dict(), allow_nan=False))
    else:
        print_table(errors)
