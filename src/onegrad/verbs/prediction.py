"""`predict`: the errors of network and equivalent models, with nothing trained and no test set."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from onegrad.describe.checks import (
    callback,
    listed,
    positive_numbers,
    shown,
    whole_number,
    whole_numbers,
)
from onegrad.describe.exceptions import InvalidInput
from onegrad.machine.bars import shown_progress, told_within
from onegrad.machine.pool import Progress, run_jobs
from onegrad.models.model import Model
from onegrad.models.resolve import models_of
from onegrad.problem.problem import Problem, require_problem
from onegrad.theory.closed.doubts import worst_notes
from onegrad.training.instance import Instance, draw
from onegrad.verbs.closed_draw import (
    answer_without_draws,
    closed_models,
    predict_closed_together,
)
from onegrad.verbs.cost import check_memory, check_mixture_memory
from onegrad.verbs.errors import Errors, collect
from onegrad.verbs.methods import DEFAULT_METHOD, METHODS, NO_DRAWS, Method
from onegrad.verbs.predicted_draw import predict_draw
from onegrad.verbs.preparation_note import note_preparation

DEFAULT_DRAWS = 4


def predict(
    problem: Problem,
    models: Sequence[str] | str = ("network", "hermite"),
    *,
    method: Method = DEFAULT_METHOD,
    draws: int = DEFAULT_DRAWS,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | bool | None = None,
) -> Errors:
    """Return the predicted errors of the models, in the form that `simulate` returns.

    One value per draw of F, w and the steps' batches: draw t has the F̂ of trial t of `simulate`
    with the same seed. The standard errors are over draws; `theory_error` is how far the test
    error may be off, relative. Method "types" keeps a mean for every component and place along
    strong directions, and one covariance up to a factor, or one each where that does not hold.
    "closed" draws nothing: it returns the mean over draws, in milliseconds and for any n, as a
    single draw; "auto" takes it where it is sure, and "types" elsewhere, saying so.
    """
    require_problem(problem)
    check_method(method)
    where = {"draws": draws, "seed": seed, "workers": workers}
    return _predicted(problem, models, None, method=method, progress=progress, **where)


def predict_curve(
    problem: Problem,
    *,
    samples: Sequence[int] | None = None,
    ridge: Sequence[float] | None = None,
    over: Mapping[str, Sequence[Any]] | None = None,
    models: Sequence[str] | str = ("network", "hermite"),
    method: Method = DEFAULT_METHOD,
    draws: int = DEFAULT_DRAWS,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | bool | None = None,
) -> Errors:
    """Return the predicted errors along a curve: for numbers of samples, penalties, or any field.

    One reduction per draw and model serves all `samples` and penalties; width and step samples are
    those of `problem` and stay fixed. `over` names any other field by its path, with a value for
    every point: {"scaling.strength": [0.2, 0.5, 0.8]}; several fields move together, and the first
    names the axis. The model "hermite" has each point's own degree there.
    """
    require_problem(problem)
    check_method(method)
    if ridge is not None:
        problem = problem.replace(readout__ridge=tuple(positive_numbers("ridge", ridge)))
    where = {"draws": draws, "seed": seed, "workers": workers}
    if over is not None:
        if samples is not None:
            raise InvalidInput("samples and over: must not be given together; put it into over")
        return _along(problem, over, models, method=method, progress=progress, **where)
    if samples is None:
        return _predicted(problem, models, None, method=method, progress=progress, **where)
    counts = tuple(whole_numbers("samples", samples, least=1))
    fixed = problem.replace(
        network__width=problem.width, training__samples=problem.samples_per_step
    )
    return _predicted(fixed, models, counts, method=method, progress=progress, **where)


def _along(
    problem: Problem,
    over: Mapping[str, Sequence[Any]],
    models: Sequence[str] | str,
    *,
    progress: Progress | bool | None,
    **how: Any,
) -> Errors:
    """Return the errors of a problem for every point of `over`, stacked before the penalties."""
    callback("progress", progress, arguments=("done", "total"))
    points = curve_points(problem, over)
    results: list[Errors] = []
    if how["method"] == "closed":
        results = _along_without_draws(points, models)
    with shown_progress(progress, "points") as told:
        for point in points[len(results) :]:
            results.append(_predicted(point, models, None, progress=None, **how))
            if told is not None:
                told(len(results), len(points))
    name, values = next(iter(over.items()))
    first = results[0]
    methods = {result.method for result in results}
    metrics = {
        metric: np.stack([result.metrics[metric] for result in results], axis=-2)
        for metric in first.metrics
        if all(metric in result.metrics for result in results)
    }
    return replace(
        first,
        problem=problem,
        metrics=metrics,
        over=(name, tuple(listed("over", values))),
        method=first.method if len(methods) == 1 else "auto",
    )


def _along_without_draws(points: Sequence[Problem], names: Sequence[str] | str) -> list[Errors]:
    """Return the errors of every point by theory without draws, all solved together."""
    asked = []
    for point in points:
        require_theory(point)
        models = closed_models(point, names, method="closed")
        assert models is not None
        asked.append((point, models))
    with threadpool_limits(limits=1):
        predicted = predict_closed_together(asked)
    for note in worst_notes(note for _, notes in predicted for note in notes):
        warnings.warn(f"theory: {note}", stacklevel=4)
    return [
        collect(point, models, [metrics], seed=0, samples=None, predicted=True, method="closed")
        for (point, models), (metrics, _) in zip(asked, predicted, strict=True)
    ]


def curve_points(problem: Problem, over: Mapping[str, Sequence[Any]]) -> list[Problem]:
    """Return the problem at every point; raise InvalidInput where lists differ in length."""
    if not isinstance(over, Mapping) or not over:
        raise InvalidInput(f"over={shown(over)}: must name a field and its values; add one")
    lists = {path: listed(f"over[{shown(path)}]", values) for path, values in over.items()}
    for path, values in lists.items():
        if any(value is None for value in values):
            raise InvalidInput(f"over[{path!r}]: must not hold None; write the default out")
    lengths = {len(values) for values in lists.values()}
    if lengths == {0} or len(lengths) > 1:
        raise InvalidInput(
            f"over={shown(list(over))}: must have lists of one length, at least 1; correct them"
        )
    points = [
        problem.replace({path: values[i] for path, values in lists.items()})
        for i in range(lengths.pop())
    ]
    for point in points:
        same = point.recorded_steps == problem.recorded_steps
        if not same or len(point.ridges) != len(problem.ridges):
            raise InvalidInput(
                f"over={shown(list(over))}: must leave the number of steps and of penalties as it "
                "is; predict such points one by one"
            )
    return points


def check_counts(*, draws: object, seed: object, workers: object) -> None:
    """Raise InvalidInput unless these are whole numbers that a prediction can have."""
    whole_number("draws", draws, least=1)
    whole_number("seed", seed, least=0)
    whole_number("workers", workers, least=1)


def check_method(method: object) -> None:
    """Raise InvalidInput unless theory has a method of this name."""
    if not isinstance(method, str) or method not in METHODS:
        raise InvalidInput(f"method={shown(method)}: must be {' or '.join(METHODS)}; choose one")


def _predicted(
    problem: Problem,
    names: Sequence[str] | str,
    samples: tuple[int, ...] | None,
    *,
    method: Method,
    draws: int,
    seed: int,
    workers: int,
    progress: Progress | bool | None,
) -> Errors:
    callback("progress", progress, arguments=("done", "total"))
    check_counts(draws=draws, seed=seed, workers=workers)
    if method in NO_DRAWS:
        errors = _without_draws(problem, names, samples, method)
        if errors is not None:
            with shown_progress(progress, "draws") as told:
                if told is not None:
                    told(1, 1)
            return errors
        method = "types"
    instance = checked_start(problem, draws=draws, seed=seed, workers=workers)
    note_preparation(problem)
    models = models_of(instance, names)
    for model in models:
        if model.no_theory is not None:
            raise InvalidInput(f"models={model.name!r}: {model.no_theory}")
    _warn_of_what_is_not_covered(instance, models)
    common = {"problem": problem, "models": models, "samples": samples, "method": method}
    jobs = [{**common, "seed": seed, "trial": t} for t in range(draws)]
    rows = []
    with shown_progress(progress, "draws") as told:
        within = told_within(told, 0, draws)
        for row in run_jobs(predict_draw, jobs, workers=workers, within=within):
            rows.append(row)
            if told is not None:
                told(len(rows), draws)
    return collect(problem, models, rows, seed=seed, samples=samples, predicted=True, method=method)


def _without_draws(
    problem: Problem,
    names: Sequence[str] | str,
    samples: tuple[int, ...] | None,
    method: Method,
) -> Errors | None:
    """Return the errors by theory without draws; None where "auto" has to draw."""
    require_theory(problem)
    models = closed_models(problem, names, method=method)
    if models is None:
        return None
    answer = answer_without_draws(problem, models, method=method, samples=samples)
    if answer is None:
        return None
    return collect(
        problem, models, [answer], seed=0, samples=samples, predicted=True, method="closed"
    )


def checked_start(problem: Problem, *, draws: int, seed: int, workers: int) -> Instance:
    """Return the instance of the first draw; raise InvalidInput where no prediction can start."""
    require_problem(problem)
    check_counts(draws=draws, seed=seed, workers=workers)
    require_theory(problem)
    problem.data.check_fit()
    check_mixture_memory(problem)
    check_memory(problem, [], workers=workers, theory=True)
    with np.errstate(all="ignore"):
        instance = draw(problem, seed=seed)
    for gaussian in instance.mixture.components:
        if gaussian.weight > 0 and not instance.teacher.has_finite_power(gaussian):
            raise InvalidInput(
                f"teacher={', '.join(problem.teacher.functions)!r}: has no finite second moment "
                "under the mixture; choose a link that grows more slowly"
            )
    return instance


def require_theory(problem: Problem) -> None:
    """Raise InvalidInput if theory does not know the problem's readout."""
    if not problem.has_theory:
        raise InvalidInput(
            "readout.batch='same': theory needs samples that the first layer has not seen; use "
            "'fresh', or simulate"
        )
    if not problem.classes:
        return
    given, loss = "readout.outputs='classes':", problem.readout.loss
    if loss != "square":
        raise InvalidInput(
            f"{given} theory knows outputs per class of the square loss, not {loss!r}; simulate it"
        )
    flips = getattr(problem.teacher, "flips", 0.0)
    if flips:
        raise InvalidInput(
            f"{given} theory knows classes without flips, not teacher.flips={flips:g}; use "
            "outputs='one', or simulate it"
        )


def _warn_of_what_is_not_covered(instance: Instance, models: Sequence[Model]) -> None:
    strength, training = instance.scales.strength, instance.problem.training
    if not any(model.degree is not None for model in models):
        return
    if training.steps > 1 or training.rule != "gradient":
        warnings.warn(
            "training: the Hermite theorem covers one gradient step; the prediction is computed "
            "all the same",
            stacklevel=4,
        )
    elif strength >= 1:
        warnings.warn(
            f"strength={strength:.3g}: the Hermite theorem covers strengths below 1; the "
            "prediction is computed all the same",
            stacklevel=4,
        )
