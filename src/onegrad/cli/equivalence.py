"""onegrad equivalence: which Hermite degree matches the network."""

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
    whole_numbers,
    workers_option,
)
from onegrad.cli.options import problem_options

if TYPE_CHECKING:
    pass


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
@draws_option
@seed_option
@workers_option
@json_option
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

    from onegrad.cli.progress import TrialProgress
    from onegrad.cli.tables import percent, print_rich
    from onegrad.verbs.degrees import equivalence as run

    problem = read_problem(problem_file, single_samples(changes))
    wanted = whole_numbers("degrees", degrees)
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
