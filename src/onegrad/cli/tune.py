"""onegrad tune: penalty, step size and width by theory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from onegrad.cli.common import (
    draws_option,
    json_option,
    method_option,
    metric_option,
    seed_option,
    show,
    single_samples,
    workers_option,
)
from onegrad.cli.options import problem_options

if TYPE_CHECKING:
    from onegrad.verbs.tuned import Tuned

SHOWN = 10


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
@json_option
def tune(
    problem_file: str | None, over: str, budget: int | None, as_json: bool, **options: Any
) -> None:
    """Choose penalty, step size and width by theory; print them with the predicted curve."""
    from onegrad.cli.building import build_problem
    from onegrad.cli.progress import WorkProgress
    from onegrad.verbs.tuning import tune as run

    how = {name: options.pop(name) for name in ("metric", "method", "draws", "seed", "workers")}
    problem = build_problem(problem_file, single_samples(options))
    names = [name.strip() for name in over.split(",") if name.strip()]
    with WorkProgress("predictions") as progress:
        tuned = run(problem, names, budget=budget, progress=progress.update, **how)
    show(tuned, _print, as_json=as_json)


def _print(tuned: Tuned) -> None:
    from rich.table import Table

    from onegrad.cli.error_tables import TITLES
    from onegrad.cli.tables import print_rich, with_error
    from onegrad.verbs.methods import said_draws

    title = TITLES[tuned.metric]
    chosen = ", ".join(f"{name} = {value:.4g}" for name, value in tuned.values.items())
    caption = (
        f"best: {chosen}; predicted {title} {with_error(tuned.best, tuned.stderr)} by "
        f"{tuned.method}, {said_draws(tuned.method, tuned.draws, tuned.seed)}; the ten best of "
        f"{len(tuned.curve)} predictions"
    )
    table = Table("width", "learning rate", "ridge", title, caption=caption, caption_justify="left")
    for row in tuned.closest(SHOWN).to_dict(orient="records"):
        table.add_row(
            f"{row['width']}",
            f"{row['learning_rate']:.4g}",
            f"{row['ridge']:.2e}",
            f"{row[tuned.metric]:.5f}",
        )
    print_rich(table)
