"""onegrad tune: penalty, step size and width by theory."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from onegrad.cli.common import (
    draws_option,
    json_option,
    read_problem,
    seed_option,
    single_samples,
    workers_option,
)
from onegrad.cli.options import problem_options

if TYPE_CHECKING:
    pass


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
@draws_option
@seed_option
@workers_option
@json_option
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

    from onegrad.cli.progress import TrialProgress
    from onegrad.cli.tables import print_rich, with_error
    from onegrad.verbs.tuning import tune as run

    problem = read_problem(problem_file, single_samples(changes))
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
