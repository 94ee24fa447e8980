"""Observed trials: the errors of a run beside what its network has learned, step by step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from threadpoolctl import threadpool_limits

from onegrad.describe.arrays import Metrics
from onegrad.describe.checks import callback, whole_number
from onegrad.diagnostics.observer import Observer
from onegrad.diagnostics.records import StepsResult
from onegrad.machine.bars import shown_progress, told_within
from onegrad.machine.pool import Progress
from onegrad.machine.pulse import listening
from onegrad.models.model import Model
from onegrad.models.network import NETWORK
from onegrad.problem.problem import Problem, require_problem
from onegrad.training.instance import draw
from onegrad.training.run import Run, stack_steps
from onegrad.verbs.cost import check_memory
from onegrad.verbs.trial import TrialRun, measured_steps


def take_steps(
    problem: Problem,
    *,
    seed: int = 0,
    trial: int = 0,
    progress: Progress | bool | None = None,
) -> StepsResult:
    """Return what the steps of one trial did to the network, one record after every step.

    The first record is of the untrained network. The run depends on (problem, seed, trial) alone.
    `progress(done, total)` is called after every record; True shows a bar.
    """
    require_problem(problem)
    whole_number("seed", seed, least=0)
    whole_number("trial", trial, least=0)
    callback("progress", progress, arguments=("done", "total"))
    check_memory(problem, [NETWORK], workers=1)
    with threadpool_limits(limits=1), shown_progress(progress, "steps") as told:
        return _run(problem, seed, trial, told)


def _run(problem: Problem, seed: int, trial: int, progress: Progress | None) -> StepsResult:
    instance = draw(problem, seed=seed, trial=trial)
    with np.errstate(all="ignore"):
        observer = Observer(instance)
    trial_run = TrialRun(Run(instance), [NETWORK], observer=observer)
    total = problem.training.steps + 1
    for step in range(total):
        if progress is not None:
            progress(step, total)
        with listening(told_within(progress, step, total)):
            trial_run.metrics(step)
    if progress is not None:
        progress(total, total)
    return observer.result(seed=seed, trial=trial)


def observed_trial(
    problem: Problem, models: Sequence[Model], *, seed: int = 0, trial: int = 0
) -> tuple[dict[str, Metrics], StepsResult]:
    """Return what `run_trial` does, and what was seen of the network after every step."""
    instance = draw(problem, seed=seed, trial=trial)
    with np.errstate(all="ignore"):
        observer = Observer(instance)
    watched = list({NETWORK.key: NETWORK, **{model.key: model for model in models}}.values())
    run = TrialRun(Run(instance), watched, observer=observer)
    by_step = measured_steps(run, range(problem.training.steps + 1))
    results = stack_steps([by_step[step] for step in problem.recorded_steps])
    metrics = {model.name: results[model.key] for model in models}
    return metrics, observer.result(seed=seed, trial=trial)
