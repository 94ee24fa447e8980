"""`predict`: the errors of the network and of its equivalent models, without training.

One predicted draw: F, w and the steps' batches are drawn, what follows is computed.

What ridge regression on fresh samples will do given F̂ comes from the equations of `theory`; nothing
here imports the readout.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from onegrad.closed.problem import answer_without_draws, closed_models, predict_closed_together
from onegrad.closed.reliability import worst_notes
from onegrad.core.draw_cache import Shared
from onegrad.core.instance import Instance, Layers, draw
from onegrad.core.model_names import models_of
from onegrad.core.models import Model
from onegrad.core.problem import Problem, Readout, require_problem
from onegrad.core.run import Run, endless, stack_steps
from onegrad.core.streams import Stream
from onegrad.data.mixture import Gaussian, exact_counts
from onegrad.data.teachers import Teacher
from onegrad.describe.exceptions import InvalidInput, require_finite
from onegrad.describe.numbers import (
    Floats,
    Metrics,
    callback,
    listed,
    positive_numbers,
    shown,
    whole_number,
    whole_numbers,
)
from onegrad.machine.pool import Progress, run_jobs
from onegrad.machine.progress import report, section, shown_progress, within_total
from onegrad.results.errors import Errors, collect
from onegrad.theory.equations import TypeErrors
from onegrad.theory.methods import DEFAULT_METHOD, METHODS, NO_DRAWS, Method
from onegrad.theory.model_types import ModelTypes
from onegrad.theory.points import PointBlock
from onegrad.verbs.cost import check_memory, check_mixture_memory
from onegrad.verbs.fit_check import note_preparation

ROUNDS, ROUND_POINTS = 8, 2500


def point_rounds(instance: Instance) -> Iterator[list[PointBlock]]:
    """Yield rounds of points, each with every component's share."""
    mixture, teacher = instance.mixture, instance.teacher
    counts = exact_counts(mixture.weights, ROUND_POINTS)
    places = np.cumsum(mixture.weights > 0) - 1
    for number in range(ROUNDS):
        rng = instance.streams.generator(Stream.TEST_DATA, "points of theory", str(number))
        blocks = []
        for component, count in enumerate(counts):
            if count:
                gaussian = mixture.components[component]
                inputs = gaussian.colour(rng.standard_normal((count, mixture.dimension)))
                expected, variances = _labels(teacher, gaussian, inputs)
                place = int(places[component])
                blocks.append(PointBlock(component, place, inputs, expected, variances))
        yield blocks


def _labels(teacher: Teacher, gaussian: Gaussian, inputs: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance of y given x, but for additive noise."""
    if teacher.directions.shape[1] == 0:
        mean = float(teacher.coefficients(gaussian, 0)[0])
        power = teacher.second_moment(gaussian) - teacher.noise**2
        return np.full(len(inputs), mean), np.full(len(inputs), max(power - mean**2, 0.0))
    projections, none = inputs @ teacher.directions[:, 0], np.zeros(len(inputs))
    means = teacher.coefficients_at(projections, none, 0)[0]
    powers = teacher.second_moment_at(projections, none) - teacher.noise**2
    return means, np.maximum(powers - means**2, 0.0)


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
            with section(place / len(steps), (place + 1) / len(steps)):
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
            report(STEP_SHARE + (1 - STEP_SHARE) * len(errors) / len(types))
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
        with section(0.0, STEP_SHARE):
            while self._run.state.step < step:
                self._run.advance()
        trained = self._run.layers.first if step == 0 else self._run.first
        return self._run.instance_at(step), self._run.layers, trained


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
        within = within_total(told, 0, draws)
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
