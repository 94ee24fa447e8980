"""`simulate`: train the network and its equivalent models over many trials."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from math import ceil

import numpy as np

from onegrad.calculus.expansion import DEGREE_CAP
from onegrad.describe.checks import whole_number
from onegrad.describe.exceptions import Failure, InvalidInput
from onegrad.machine.pool import run_jobs
from onegrad.models.model import Model
from onegrad.models.resolve import resolve_models
from onegrad.problem.problem import Problem
from onegrad.verbs.cost import check_memory
from onegrad.verbs.errors import Errors, collect
from onegrad.verbs.trial import run_trial

Progress = Callable[[int, int], None]

DEFAULT_TRIALS = 8
FIRST_TRIALS, MOST_TRIALS = 8, 10_000


class TargetNotReached(Failure):
    """The asked standard error was not reached within the largest number of trials."""


def simulate(
    problem: Problem,
    models: Sequence[str] | str = ("network", "hermite"),
    *,
    trials: int | None = None,
    target_stderr: float | None = None,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> Errors:
    """Return the errors of the trained network beside those of its equivalent models.

    Give the number of `trials` (8 when nothing is said), or `target_stderr`, the standard error
    of every model's test_mse relative to its mean. Trial t depends on (seed, t) alone: the same
    bits come from any number of workers. `progress(done, total)` is called after every trial.
    """
    _check(trials, target_stderr, seed, workers)
    check_memory(problem, [], workers=workers)
    resolved = resolve_models(problem, models, seed=seed)
    _warn_of_large_degrees(problem, resolved, seed=seed)
    check_memory(problem, resolved, workers=workers)
    rows: list[dict[str, dict[str, np.ndarray]]] = []
    goal = DEFAULT_TRIALS if trials is None else trials
    if target_stderr is not None:
        goal = FIRST_TRIALS
    while True:
        jobs = [
            {"problem": problem, "models": resolved, "seed": seed, "trial": t}
            for t in range(len(rows), goal)
        ]
        for row in run_jobs(run_trial, jobs, workers=workers):
            rows.append(row)
            if progress is not None:
                progress(len(rows), goal)
        errors = collect(problem, resolved, rows, seed=seed)
        if target_stderr is None:
            return errors
        estimate = errors.estimate()
        # An error of exactly zero is known exactly.
        known = estimate.mean > 0
        reached = float(np.max(estimate.stderr[known] / estimate.mean[known], initial=0.0))
        if reached <= target_stderr:
            return errors
        if goal >= MOST_TRIALS:
            raise TargetNotReached(
                f"target_stderr={target_stderr}: {goal} trials gave {reached:.3g}; raise it"
            )
        # As many as the error so far calls for, at most four times as many at once.
        needed = ceil(goal * (reached / target_stderr) ** 2)
        goal = min(max(needed, goal + 1), 4 * goal, MOST_TRIALS)


def _warn_of_large_degrees(problem: Problem, models: Sequence[Model], *, seed: int) -> None:
    expected = resolve_models(problem, ["hermite"], seed=seed)[0].degree or 1
    for model in models:
        if model.degree is not None and model.degree > max(expected, DEGREE_CAP - 1):
            warnings.warn(
                f"{model.name}: the theorem asks for degree {expected}; at finite n polynomials of "
                "high degree grow where the activation does not, and may match worse",
                stacklevel=3,
            )


def _check(trials: int | None, target: float | None, seed: int, workers: int) -> None:
    if trials is not None and target is not None:
        raise InvalidInput(
            f"trials={trials} and target_stderr={target}: must not be given together; keep one"
        )
    if trials is not None:
        whole_number("trials", trials, least=1)
    whole_number("seed", seed, least=0)
    whole_number("workers", workers, least=1)
    if target is not None and not (isinstance(target, float | int) and 0 < target < 1):
        raise InvalidInput(f"target_stderr={target}: must lie between 0 and 1; try 0.01")
