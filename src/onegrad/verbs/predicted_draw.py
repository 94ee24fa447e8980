"""One predicted draw: F, w and the steps' batches are drawn, what follows is computed.

What ridge regression on fresh samples will do given F̂ comes from the equations of `theory`; nothing
here imports the readout.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from onegrad.describe.arrays import Floats, Metrics
from onegrad.describe.exceptions import require_finite
from onegrad.machine.pulse import moved, part
from onegrad.models.model import Model
from onegrad.problem.problem import Problem
from onegrad.problem.protocol import Readout
from onegrad.theory.errors_by_types import TypeErrors
from onegrad.theory.model_types import ModelTypes
from onegrad.training.instance import Instance, draw
from onegrad.training.layers import Layers
from onegrad.training.reuse import Shared
from onegrad.training.run import Run, endless, stack_steps
from onegrad.verbs.closed_draw import answer_without_draws
from onegrad.verbs.methods import DEFAULT_METHOD, NO_DRAWS, Method
from onegrad.verbs.points import point_rounds

STEP_SHARE = 0.2  # of the time of a prediction, about


def predict_draw(
    problem: Problem,
    models: Sequence[Model],
    *,
    samples: tuple[int, ...] | None = None,
    method: Method = DEFAULT_METHOD,
    seed: int = 0,
    trial: int = 0,
    shared: Shared | None = None,
) -> dict[str, Metrics]:
    """Return every model's predicted metrics for one draw, over (steps × samples ×) penalties.

    Methods without draws return the same for every draw.
    """
    if method in NO_DRAWS:
        answer = answer_without_draws(problem, models, method=method, samples=samples)
        if answer is not None:
            return answer
    counts = (problem.samples,) if samples is None else samples
    run = _kept_run(problem, models, seed=seed, trial=trial, shared=shared)
    by_step = []
    # Overflow is not hidden: every result is checked for it.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        steps = problem.recorded_steps
        for place, step in enumerate(steps):
            with part(place / len(steps), (place + 1) / len(steps)):
                errors = run.by_types(step, counts, problem)
            by_step.append({key: _metrics(error, samples) for key, error in errors.items()})
    results = stack_steps(by_step)
    for model in models:
        require_finite(model.name, results[model.key])
    return {model.name: results[model.key] for model in models}


def _metrics(errors: TypeErrors, samples: tuple[int, ...] | None) -> Metrics:
    return {name: v[0] if samples is None else v for name, v in errors.metrics().items()}


def _kept_run(
    problem: Problem,
    models: Sequence[Model],
    *,
    seed: int,
    trial: int,
    shared: Shared | None,
) -> PredictedRun:
    """Return the run of a draw, kept for problems that differ in samples, penalty or steps alone.

    A longer run goes on where a shorter one ended.
    """

    def start() -> PredictedRun:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return PredictedRun(Run(draw(problem, seed=seed, trial=trial), shared=shared), models)

    if shared is None:
        return start()
    fixed = problem.replace(
        readout=Readout(samples=1, ridge=1.0),
        network__width=problem.width,
        training__samples=problem.samples_per_step,
    )
    # Real data give later steps rows that readout and test have not seen.
    drawn_before = problem.training.steps > 1 and not problem.data.exact_moments
    sizes = (problem.samples, problem.samples_in_test) if drawn_before else None
    convex = problem.readout.loss != "square"  # which has fewer types
    names = tuple(model.key for model in models)
    key = (endless(fixed), sizes, convex, seed, trial, names)
    return shared.get("draw", key, start)


class PredictedRun:
    """A draw that goes on step by step; the moments after a step stay."""

    def __init__(self, run: Run, models: Sequence[Model]) -> None:
        self._run, self._models = run, models
        self._types: dict[int, dict[str, ModelTypes]] = {}

    def by_types(
        self, step: int, samples: tuple[int, ...], problem: Problem
    ) -> dict[str, TypeErrors]:
        """Return the errors by types by model key, samples × penalties."""
        how: Any = {
            "samples": samples,
            "ridges": problem.ridges,
            "loss": problem.readout.loss,
            "classes": problem.classes,
        }
        types = self.types_after(step)
        errors = {}
        for key, own in types.items():
            errors[key] = own.errors(**how)
            moved(STEP_SHARE + (1 - STEP_SHARE) * len(errors) / len(types))
        return errors

    def types_after(self, step: int) -> dict[str, ModelTypes]:
        """Return every model's types after a step, by key."""
        if step not in self._types:
            instance, layers, trained = self._drawn(step)
            signs = instance.problem.binary and instance.problem.training.subtract == "none"
            types = {}
            for key, model in {model.key: model for model in self._models}.items():
                matrix = layers.first if model.first_layer == "initial" else trained
                feature_map = model.feature_map(instance, layers, trained)
                types[key] = ModelTypes(
                    instance.mixture,
                    instance.teacher,
                    feature_map,
                    matrix,
                    initial=layers.first,
                    binary=signs,
                    exact_counts=instance.population.counts == "exact",
                    rounds=partial(point_rounds, instance),
                    convex=instance.problem.readout.loss != "square",
                )
            self._types[step] = types
        return self._types[step]

    def _drawn(self, step: int) -> tuple[Instance, Layers, Floats]:
        """Return the instance, the initial layers and the first layer after a step."""
        with part(0.0, STEP_SHARE):
            while self._run.state.step < step:
                self._run.advance()
        trained = self._run.layers.first if step == 0 else self._run.first
        return self._run.instance_at(step), self._run.layers, trained
