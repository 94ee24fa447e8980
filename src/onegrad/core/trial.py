"""One trial, the pipeline of the paper: draw, take the steps, fit readouts, measure the errors."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import numpy as np

from onegrad.core.draw_cache import Shared
from onegrad.core.errors import measure_errors
from onegrad.core.feature_watch import FeatureWatch
from onegrad.core.instance import draw
from onegrad.core.models import NETWORK, Model
from onegrad.core.problem import Problem
from onegrad.core.problem_readout import fit_models
from onegrad.core.run import Run, StepTaken, endless, stack_steps
from onegrad.describe.exceptions import require_finite
from onegrad.describe.numbers import Floats, Metrics
from onegrad.machine.progress import section

STEP_SHARE, FIT_SHARE = 0.25, 0.875  # shares of a step's time; exact binary fractions add up


class StepObserver(Protocol):
    """An observer of the network: `watch` before its readout is fitted, `record` after it."""

    def watch(self, run: Run, step: int) -> FeatureWatch:
        """Return what watches the features of the first layer after a step."""
        ...

    def record(
        self, run: Run, step: int, taken: StepTaken | None, watch: FeatureWatch, metrics: Metrics
    ) -> None:
        """Record the state after a step."""
        ...


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # every result is checked
def run_trial(
    problem: Problem,
    models: Sequence[Model],
    *,
    seed: int = 0,
    trial: int = 0,
    shared: Shared | None = None,
    observer: StepObserver | None = None,
) -> dict[str, Metrics]:
    """Return the metrics of every model, each an array over (steps ×) penalties.

    A model's numbers do not depend on the other models. `shared` remembers draws for the next
    trial; an `observer` sees the network after every step, also those that are not recorded.
    """

    def start() -> tuple[Run, dict[Hashable, dict[str, Metrics]]]:
        instance = draw(problem, seed=seed, trial=trial)  # mixture, teacher, scales, streams
        return Run(instance, shared=shared), {}  # F and w, and no metrics yet

    if shared is None:
        run, measured = start()
    else:  # Problems that differ in the number of steps begin alike: the longer run continues.
        same = (endless(problem), seed, trial, tuple(model.key for model in models))
        run, measured = shared.get("trial", same, start)

    steps = problem.recorded_steps if observer is None else range(problem.training.steps + 1)
    by_step: dict[int, dict[str, Metrics]] = {}
    for place, step in enumerate(steps):
        taken, by_step[step] = None, {}
        with _part_of_step(place, len(steps), 0.0, STEP_SHARE):
            while run.state.step < step:
                taken = run.advance()  # a gradient step of the first layer
        watch = observer.watch(run, step) if observer else None
        for key, first, group in _groups(run, models, step):
            if key not in measured:
                instance = run.instance_at(step)  # with the labels that the readout sees
                trained = run.first_at(step)
                maps = {m.key: m.feature_map(instance, run.layers, trained) for m in group}
                with _part_of_step(place, len(steps), STEP_SHARE, FIT_SHARE):
                    fits = fit_models(instance, first, maps, step=step, shared=shared, watch=watch)
                with _part_of_step(place, len(steps), FIT_SHARE, 1.0):
                    errors = measure_errors(instance, first, maps, fits)
                measured[key] = {m.key: errors[m.key] | fits[m.key].metrics() for m in group}
                del maps, fits  # before those of the next group are made
                for model in group:
                    require_finite(model.name, measured[key][model.key])
            by_step[step] |= measured[key]
        if observer and watch:
            observer.record(run, step, taken, watch, by_step[step][NETWORK.key])
    results = stack_steps([by_step[step] for step in problem.recorded_steps])
    return {model.name: results[model.key] for model in models}


def _groups(
    run: Run, models: Sequence[Model], step: int
) -> Iterator[tuple[Hashable, Floats, list[Model]]]:
    """Yield a key, a first layer and the models that read it; equal keys mean equal metrics.

    The metrics of models that read the initial layer depend on the readout's batch and labels.
    """
    trained = [model for model in models if model.first_layer == "trained"]
    if trained:
        yield step, run.first_at(step), trained
    initial = [model for model in models if model.first_layer == "initial"]
    if initial:
        instance = run.instance_at(step)
        key = (instance.readout_draw(step).names, instance.subtracted.key)
        yield key, run.layers.first, initial


def _part_of_step(place: int, steps: int, start: float, end: float) -> AbstractContextManager[None]:
    """Return the part of a trial's progress between two shares of one step."""
    return section((place + start) / steps, (place + end) / steps)
