"""`simulate`: train the network and its equivalent models over many trials."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from math import ceil
from typing import Any

import numpy as np

from onegrad.calculus.expectations import DEGREE_CAP
from onegrad.calculus.prediction import warn_of
from onegrad.core.model_names import degree_of, models_named
from onegrad.core.models import Model
from onegrad.core.problem import Problem, require_problem
from onegrad.core.trial import run_trial
from onegrad.describe.exceptions import Failure, InvalidInput
from onegrad.describe.numbers import Metrics, callback, real_number, shown, truth, whole_number
from onegrad.machine.pool import Progress, run_jobs
from onegrad.machine.progress import shown_progress, within_total
from onegrad.results.errors import Errors, collect
from onegrad.results.steps import StepsResult
from onegrad.verbs.cost import check_memory
from onegrad.verbs.fit_check import preparation_notes
from onegrad.verbs.observe import observed_trial

DEFAULT_TRIALS = 8
FIRST_TRIALS, MOST_TRIALS = 8, 10_000
SMALLEST_TARGET = 1e-6  # a hundredth of what as many trials bring


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
    observe: bool = False,
    progress: Progress | bool | None = None,
) -> Errors:
    """Return the errors of the trained network beside those of its equivalent models.

    Give the number of `trials` (by default 8), or `target_stderr`, the standard error
    of every model's test_mse relative to its mean. Trial t depends on (seed, t) alone: the same
    bits come from any number of workers. With `observe` the result's `runs` hold what was seen of
    every trial: overlaps, spectra and spikes after each step. `progress(done, total)` is called
    after every trial; True shows a bar.
    """
    require_problem(problem)
    check_trials(trials, target_stderr, seed, workers)
    truth("observe", observe)
    callback("progress", progress, arguments=("done", "total"))
    warn_of(preparation_notes(problem))
    check_memory(problem, [], workers=workers)
    degree = degree_of(problem, seed=seed)
    resolved = models_named(problem, models, theorem_degree=degree)
    _warn_of_large_degrees(resolved, theorem_degree=degree)
    check_memory(problem, resolved, workers=workers)
    with shown_progress(progress, "trials") as told:
        run = _Run(problem, resolved, seed, workers, told, observe=observe)
        if target_stderr is None:
            return run.up_to(DEFAULT_TRIALS if trials is None else trials)
        return _run_until(run, float(target_stderr))


class _Run:
    """Trials of one problem, run further and further; those that are done stay."""

    def __init__(
        self,
        problem: Problem,
        models: Sequence[Model],
        seed: int,
        workers: int,
        progress: Progress | None,
        *,
        observe: bool,
    ) -> None:
        self._common: dict[str, Any] = {"problem": problem, "models": models, "seed": seed}
        self._workers, self._progress = workers, progress
        self._observe = observe
        self._rows: list[dict[str, Metrics]] = []
        self._runs: list[StepsResult] = []

    def up_to(self, trials: int) -> Errors:
        """Return the errors of the first `trials` trials."""
        jobs = [{**self._common, "trial": t} for t in range(len(self._rows), trials)]
        function: Any = observed_trial if self._observe else run_trial
        within = within_total(self._progress, len(self._rows), trials)
        outcomes: Iterable[Any] = run_jobs(function, jobs, workers=self._workers, within=within)
        for outcome in outcomes:
            metrics, *seen = outcome if self._observe else (outcome,)
            self._rows.append(metrics)
            self._runs += seen
            if self._progress is not None:
                self._progress(len(self._rows), trials)
        return collect(trials=self._rows, runs=self._runs, **self._common)


def _run_until(run: _Run, target: float) -> Errors:
    """Return the errors of as many trials as the relative standard error asks for."""
    goal = FIRST_TRIALS
    while True:
        errors = run.up_to(goal)
        estimate = errors.estimate()
        # An error of exactly zero is known exactly.
        known = estimate.mean > 0
        reached = float(np.max(estimate.stderr[known] / estimate.mean[known], initial=0.0))
        if reached <= target:
            return errors
        if goal >= MOST_TRIALS:
            raise TargetNotReached(
                f"target_stderr={target}: {goal} trials gave {reached:.3g}; raise it"
            )
        # As many as the error so far calls for, at most four times as many at once.
        needed = ceil(goal * min(reached / target, MOST_TRIALS) ** 2)
        goal = min(max(needed, goal + 1), 4 * goal, MOST_TRIALS)


def _warn_of_large_degrees(models: Sequence[Model], *, theorem_degree: int) -> None:
    for model in models:
        if model.degree is not None and model.degree > max(theorem_degree, DEGREE_CAP - 1):
            warnings.warn(
                f"{model.name}: the theorem asks for degree {theorem_degree}; at finite n "
                "polynomials of high degree grow where the activation does not, and may match "
                "worse",
                stacklevel=3,
            )


def check_trials(trials: int | None, target: float | None, seed: int, workers: int) -> None:
    """Raise InvalidInput unless these give the number of trials, the seed and the workers."""
    if trials is not None and target is not None:
        raise InvalidInput(
            f"trials={shown(trials)} and target_stderr={shown(target)}: must not be given "
            "together; keep one"
        )
    if trials is not None:
        whole_number("trials", trials, least=1)
    whole_number("seed", seed, least=0)
    whole_number("workers", workers, least=1)
    if target is not None and not SMALLEST_TARGET <= real_number("target_stderr", target) < 1:
        raise InvalidInput(
            f"target_stderr={target}: must lie between {SMALLEST_TARGET:g} and 1; try 0.01"
        )
