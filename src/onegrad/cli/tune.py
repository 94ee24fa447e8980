"""onegrad tune: penalty, step size and width by theory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from onegrad.cli.common import (
    check_trials_option,
    checked_trials,
    draws_option,
    json_option,
    method_option,
    metric_option,
    plan_option,
    seed_option,
    show,
    single_samples,
    tell_plan,
    workers_option,
)
from onegrad.cli.options import problem_options
from onegrad.cli.unused import note_not_tested, note_uncapped


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
@check_trials_option
@plan_option
@json_option
def tune(
    problem_file: str | None,
    over: str,
    budget: int | None,
    only_plan: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Choose penalty, step size and width by theory; print them with the predicted curve."""
    from onegrad.cli.building import build_problem
    from onegrad.cli.progress import WorkProgress
    from onegrad.verbs.foreseen import foresee_tuning
    from onegrad.verbs.tuning import tune as run

    how = {name: options.pop(name) for name in ("metric", "method", "draws", "seed", "workers")}
    check = options.pop("check_trials")
    problem = build_problem(problem_file, single_samples(options))
    how["check_trials"] = checked_trials(problem, check)
    names = [name.strip() for name in over.split(",") if name.strip()]
    _check_searched(names, options, budget)
    note_uncapped()
    note_not_tested(problem, method=how["method"])
    if only_plan:
        wanted = {name: how[name] for name in ("method", "draws", "check_trials")}
        tell_plan(foresee_tuning(problem, names, budget=budget, **wanted), how["workers"])
        return
    with WorkProgress("predictions") as progress:
        tuned = run(problem, names, budget=budget, progress=progress, **how)
    if tuned.check is not None and tuned.check.poor and not as_json:
        tuned = replace(tuned, check=None)  # which a note has said
    show(tuned, as_json=as_json)


def _check_searched(names: list[str], options: dict[str, Any], budget: int | None) -> None:
    """Raise InvalidInput where what is searched has a value, or what is not a bound."""
    from onegrad.describe.checks import shown
    from onegrad.describe.exceptions import InvalidInput

    for name in ("ridge", "penalty"):
        if "ridge" in names and options.get(name) is not None:
            raise InvalidInput(
                f"{name}={shown(options[name])}: the ridge is searched; leave it out, or take "
                "ridge out of --over"
            )
    if budget is not None and "width" not in names:
        raise InvalidInput(f"budget={budget}: bounds widths, none is searched; add width to --over")
