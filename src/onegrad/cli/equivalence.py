"""onegrad equivalence: which Hermite degree matches the network."""

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
    whole_numbers,
    workers_option,
)
from onegrad.cli.options import problem_options

if TYPE_CHECKING:
    from onegrad.verbs.decay_fit import DecayFit
    from onegrad.verbs.equivalent_degrees import Equivalence


@click.command()
@problem_options
@click.option("--degrees", default="1,2,3,4,5,6", show_default=True, metavar="NUMBERS")
@click.option(
    "--dimensions",
    metavar="NUMBERS",
    help="Comma list of n, samples and width in proportion: how the gap decays.",
)
@click.option(
    "--tolerance",
    type=float,
    default=0.01,
    show_default=True,
    help="Relative gap that counts as a match.",
)
@metric_option
@method_option
@draws_option
@seed_option
@workers_option
@json_option
def equivalence(
    problem_file: str | None,
    degrees: str,
    dimensions: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Tell by theory which Hermite degree matches the network, beside the theorem's.

    With --dimensions also how the gap of each degree decays with n. Where a higher degree has a
    larger gap than a lower one, a sentence says why.
    """
    from onegrad.cli.building import build_problem
    from onegrad.cli.progress import WorkProgress
    from onegrad.verbs.degrees import equivalence as run

    names = ("tolerance", "metric", "method", "draws", "seed", "workers")
    how = {name: options.pop(name) for name in names}
    problem = build_problem(problem_file, single_samples(options))
    wanted = whole_numbers("degrees", degrees)
    sizes = None if dimensions is None else whole_numbers("dimensions", dimensions)
    with WorkProgress("draws") as progress:
        gaps = run(problem, wanted, dimensions=sizes, progress=progress.update, **how)
    show(gaps, _print, as_json=as_json)


def _print(equivalence: Equivalence) -> None:
    from rich.table import Table

    from onegrad.cli.tables import percent, print_rich

    sizes = equivalence.sizes or (equivalence,)
    table = Table(caption=_caption(equivalence), caption_justify="left")
    table.add_column("degree")
    for size in sizes:
        table.add_column(f"gap, n = {size.dimension}" if equivalence.sizes else "gap to network")
    if equivalence.decay:
        table.add_column("decay")
    table.add_column("matches")
    for place, degree in enumerate(equivalence.degrees):
        cells = [percent(size.gaps[place], size.stderrs[place]) for size in sizes]
        cells += [_power(equivalence.decay[place])] if equivalence.decay else []
        table.add_row(f"{degree}", *cells, "yes" if equivalence.matches[place] else "no")
    print_rich(table)
    for fit in equivalence.decay:
        if fit.note is not None:
            click.echo(f"degree {fit.degree}: {fit.note}")
    if equivalence.reason is not None:
        click.echo(equivalence.reason)


def _caption(equivalence: Equivalence) -> str:
    from onegrad.cli.error_tables import TITLES
    from onegrad.verbs.methods import said_draws

    errors, smallest = equivalence.errors, equivalence.smallest
    at = f" at n = {equivalence.dimension}" if equivalence.sizes else ""
    return (
        f"smallest degree within {100 * equivalence.tolerance:g} %{at}: "
        f"{'none of these' if smallest is None else smallest}; the theorem's degree at "
        f"β = {equivalence.strength:.3g}: {equivalence.theorem or 'none, it covers β < 1'}; "
        f"{TITLES[equivalence.metric]} by {equivalence.method}, "
        f"{said_draws(equivalence.method, errors.trials, errors.seed)}, nothing trained"
    )


def _power(fit: DecayFit) -> str:
    """Return n^−p with its standard error."""
    if fit.exponent is None:
        return "not fitted"
    return f"n^{-fit.exponent:.2f} ± {fit.stderr:.2f}"
