"""Options that would do nothing: said, so that nobody believes that they were read."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from onegrad.problem.problem import Problem

TABLES = (".csv", ".parquet")


def check_used(problem: Problem, given: dict[str, Any]) -> None:
    """Raise InvalidInput where an option of a problem contradicts what would read it."""
    from onegrad.describe.checks import shown
    from onegrad.describe.exceptions import InvalidInput

    for name, reason in _contradictions(problem, given):
        raise InvalidInput(f"{name}={shown(given[name])}: {reason}")


def _contradictions(problem: Problem, given: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield options that nothing reads in this problem, with the rule and the remedy."""
    if "labels" in given and not problem.teacher.reads_labels:
        yield "labels", "are read by class labels alone; add --task classification"
    if "test_samples" in given and problem.test == "exact":
        yield "test_samples", "an exact test error needs no test points; add --test sampled"
    file = getattr(problem.data, "file", None)
    if "label_column" in given and Path(file or "").suffix.lower() not in TABLES:
        yield "label_column", "belongs to a CSV or Parquet table, the data are none; leave it out"
    if problem.training.steps == 1:
        if float(given.get("momentum", 0)):
            yield "momentum", "acts from the second step on; raise --steps, or leave it out"
        if given.get("batches") == "reused":
            yield "batches", "one step has one batch; raise --steps, or leave it out"
    components = getattr(problem.data, "components", None)
    if components is not None and len(components) == 1:
        for name in ("alignment", "equal_totals"):
            if given.get(name):
                yield name, "compares components, there is one; add --components, or leave it out"
    if components is not None and not problem.data.has_spikes:
        for name in ("strengths", "spread", "alignment", "equal_totals"):
            if given.get(name):
                yield name, "is about spikes, there are none; raise --rank, or leave it out"


def note_unused(reason: str, *names: str) -> None:
    """Say of these options, where they were given, that this command does not read them."""
    context = click.get_current_context()
    for name in names:
        if was_given(name):
            flag = _flag(context, name)
            warnings.warn(f"{flag} does nothing here: {reason}", stacklevel=2)


def note_uncapped(models: str = "") -> None:
    """Say of --degree-cap that nothing reads it, unless hermite without a degree is asked for."""
    if "hermite" not in [name.strip() for name in models.split(",")]:
        note_unused(
            "it bounds the degree of the model hermite, which is not asked for", "degree_cap"
        )


def note_not_tested(problem: Problem, *, method: str) -> None:
    """Say of options about tests and draws that theory by this method reads none of them.

    Of real data the test rows are set aside, so that as many must be there.
    """
    if problem.data.exact_moments:
        note_unused("theory integrates test errors and tests nothing", "test", "test_samples")
    if method == "closed":
        note_unused("this method draws nothing", "draws", "seed", "workers")


def was_given(name: str) -> bool:
    """Return whether an option stands on the command line, be it with its default value."""
    source = click.get_current_context().get_parameter_source(name)
    return source is ParameterSource.COMMANDLINE


def _flag(context: click.Context, name: str) -> str:
    """Return an option as a user writes it."""
    return next(p.opts[0] for p in context.command.params if p.name == name)
