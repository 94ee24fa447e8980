"""onegrad equivalence: which Hermite degree matches the network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from onegrad.cli.common import (
    draws_option,
    json_option,
    seed_option,
    show,
    single_samples,
    whole_numbers,
    workers_option,
)
from onegrad.cli.options import problem_options

if TYPE_CHECKING:
    from onegrad.verbs.degrees import Equivalence


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
    **options: Any,
) -> None:
    """Tell by theory which Hermite degree matches the network, beside the theorem's."""
    from onegrad.cli.building import build_problem
    from onegrad.cli.progress import WorkProgress
    from onegrad.verbs.degrees import equivalence as run

    problem = build_problem(problem_file, single_samples(options))
    wanted = whole_numbers("degrees", degrees)
    how: dict[str, Any] = {"draws": draws, "seed": seed, "workers": workers}
    with WorkProgress("draws") as progress:
        gaps = run(problem, wanted, tolerance=tolerance, progress=progress.update, **how)
    show(gaps, _print, as_json=as_json)


def _print(equivalence: Equivalence) -> None:
    from rich.table import Table

    from onegrad.cli.tables import percent, print_rich

    tolerance, smallest = equivalence.tolerance, equivalence.smallest
    caption = (
        f"smallest degree within {100 * tolerance:g} %: "
        f"{'none of these' if smallest is None else smallest}; the theorem's degree at "
        f"β = {equivalence.strength:.3g}: {equivalence.theorem or 'none, it covers β < 1'}; "
        f"{equivalence.errors.trials} draws, seed {equivalence.errors.seed}, nothing trained"
    )
    table = Table("degree", "gap to network", "matches", caption=caption, caption_justify="left")
    lines = zip(equivalence.degrees, equivalence.gaps, equivalence.stderrs, strict=True)
    for degree, gap, stderr in lines:
        match = "yes" if abs(gap) <= tolerance else "no"
        table.add_row(str(degree), percent(gap, stderr), match)
    print_rich(table)
