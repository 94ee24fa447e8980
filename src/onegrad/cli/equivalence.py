"""onegrad equivalence: which Hermite degree matches the network."""

from __future__ import annotations

from typing import Any

import click

from onegrad.cli.common import (
    draws_option,
    json_option,
    method_option,
    metric_option,
    plan_option,
    seed_option,
    show,
    single_samples,
    tell_plan,
    whole_numbers,
    workers_option,
)
from onegrad.cli.options import problem_options
from onegrad.cli.unused import note_not_tested, note_uncapped


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
@plan_option
@json_option
def equivalence(
    problem_file: str | None,
    degrees: str,
    dimensions: str | None,
    only_plan: bool,
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
    from onegrad.verbs.foreseen import foresee_equivalence

    names = ("tolerance", "metric", "method", "draws", "seed", "workers")
    how = {name: options.pop(name) for name in names}
    problem = build_problem(problem_file, single_samples(options))
    note_uncapped()
    note_not_tested(problem, method=how["method"])
    wanted = whole_numbers("degrees", degrees)
    sizes = None if dimensions is None else whole_numbers("dimensions", dimensions)
    if only_plan:
        foreseen = foresee_equivalence(
            problem, wanted, dimensions=sizes, method=how["method"], draws=how["draws"]
        )
        tell_plan(foreseen, how["workers"])
        return
    with WorkProgress("draws") as progress:
        gaps = run(problem, wanted, dimensions=sizes, progress=progress, **how)
    show(gaps, as_json=as_json)
