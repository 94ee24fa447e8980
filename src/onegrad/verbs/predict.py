"""`predict`: the errors of the network and of its equivalent models, without training.

By types F, w and the steps' batches are drawn, and the equations of `theory` give what ridge
regression on fresh samples does on them. The closed theory draws nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np
from threadpoolctl import threadpool_limits

from onegrad.calculus.prediction import (
    Note,
    NoteKind,
    PredictedModels,
    Prediction,
    warn_of,
    worst_notes,
)
from onegrad.closed.problem import ClosedProblem, predict_closed
from onegrad.core.draw_cache import Shared
from onegrad.core.instance import Instance, Layers, draw
from onegrad.core.model_names import Names, models_of
from onegrad.core.models import Model
from onegrad.core.problem import Problem, Readout, require_problem
from onegrad.core.run import Run, endless
from onegrad.core.streams import Stream
from onegrad.data.mixture import Gaussian, exact_counts
from onegrad.data.teachers import Teacher, reads_one_projection
from onegrad.describe.exceptions import Failure, InvalidInput
from onegrad.describe.numbers import (
    Floats,
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
from onegrad.theory.methods import DEFAULT_METHOD, METHODS, NO_DRAWS, Method, require
from onegrad.theory.model_types import ModelTypes
from onegrad.theory.points import PointBlock
from onegrad.verbs.cost import check_memory, check_mixture_memory
from onegrad.verbs.fit_check import preparation_notes

DEFAULT_DRAWS = 4


def predict(
    problem: Problem,
    models: Names = ("network", "hermite"),
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
    single draw; "auto" takes it where it is sure, and "types" elsewhere, saying so. A doubt about
    the prediction is a `TheoryWarning`.
    """
    require_problem(problem)
    how: dict[str, Any] = {"draws": draws, "seed": seed, "workers": workers, "progress": progress}
    ((errors, notes),) = predict_points([(problem, models)], method=method, **how)
    warn_of(notes, method=errors.method)
    return errors


def predict_curve(
    problem: Problem,
    *,
    samples: Sequence[int] | None = None,
    ridge: Sequence[float] | None = None,
    over: Mapping[str, Sequence[Any]] | None = None,
    models: Names = ("network", "hermite"),
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
    how: dict[str, Any] = {"draws": draws, "seed": seed, "workers": workers, "progress": progress}
    points, counts = [problem], None
    if over is not None:
        if samples is not None:
            raise InvalidInput("samples and over: must not be given together; put it into over")
        points = _points_over(problem, over)
    elif samples is not None:
        counts = tuple(whole_numbers("samples", samples, least=1))
        points = [
            problem.replace(
                network__width=problem.width, training__samples=problem.samples_per_step
            )
        ]
    found = predict_points(
        [(point, models) for point in points], samples=counts, method=method, **how
    )
    results = [errors for errors, _ in found]
    errors = results[0] if over is None else _stacked(problem, over, results)
    warn_of(worst_notes(note for _, notes in found for note in notes), method=errors.method)
    return errors


def _points_over(problem: Problem, over: Mapping[str, Sequence[Any]]) -> list[Problem]:
    """Return the problem at every point of `over`."""
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


def _stacked(
    problem: Problem, over: Mapping[str, Sequence[Any]], results: Sequence[Errors]
) -> Errors:
    """Return the errors of all points, stacked before the penalties."""
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


Asked = Sequence[tuple[Problem, Names | Sequence[Model]]]
Found = tuple[Errors, tuple[Note, ...]]


def predict_points(
    asked: Asked,
    *,
    samples: tuple[int, ...] | None = None,
    method: Method = DEFAULT_METHOD,
    draft: bool = False,
    draws: int = DEFAULT_DRAWS,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | bool | None = None,
) -> list[Found]:
    """Return errors and notes for every problem and its models.

    With `samples` the errors have an axis for these numbers. A `draft` of the closed theory is
    faster and less exact.
    """
    check_method(method)
    callback("progress", progress, arguments=("done", "total"))
    check_counts(draws=draws, seed=seed, workers=workers)
    how: dict[str, Any] = {"draws": draws, "seed": seed, "workers": workers}
    if method == "closed":
        found = _without_draws(asked, samples, draft=draft)
        with shown_progress(progress, "points") as told:
            if told is not None:
                told(len(asked), len(asked))
        return found
    if len(asked) == 1:
        return [_with_draws(*asked[0], samples, method=method, progress=progress, **how)]
    found = []
    with shown_progress(progress, "points") as told:
        for problem, names in asked:
            found.append(_with_draws(problem, names, samples, method=method, progress=None, **how))
            if told is not None:
                told(len(found), len(asked))
    return found


def predict_or_refuse(asked: Asked, **how: Any) -> list[Found | InvalidInput | Failure]:
    """Return what `predict_points` does, with the error in place of points that it refuses."""
    try:
        return [*predict_points(asked, **how)]
    except (InvalidInput, Failure) as error:
        if len(asked) == 1:
            return [error]
    return [found for point in asked for found in predict_or_refuse([point], **how)]


def _without_draws(
    asked: Asked, samples: tuple[int, ...] | None, *, draft: bool = False
) -> list[Found]:
    """Return errors and notes by the closed theory; all points are solved together."""
    pairs = []
    for problem, names in asked:
        require(problem)
        closed = ClosedProblem.of(problem, draft=draft)
        pairs.append((closed, closed.models(names)))
    with threadpool_limits(limits=1) if len(asked) > 1 else nullcontext():
        predicted = predict_closed(pairs, samples=samples)
    how: dict[str, Any] = {"seed": 0, "samples": samples, "predicted": True, "method": "closed"}
    return [
        (collect(closed.problem, models, [own.metrics], **how), own.notes)
        for (closed, models), own in zip(pairs, predicted, strict=True)
    ]


def _with_draws(
    problem: Problem,
    names: Names | Sequence[Model],
    samples: tuple[int, ...] | None,
    *,
    method: Method,
    draws: int,
    seed: int,
    workers: int,
    progress: Progress | bool | None,
) -> Found:
    """Return errors and notes by types, or by the closed theory if "auto" is sure of it."""
    notes: list[Note] = []
    if method == "auto":
        require(problem)
        try:
            ((errors, doubts),) = _without_draws([(problem, names)], samples)
        except (InvalidInput, Failure) as error:
            notes.append(_types_instead(error))
        else:
            if not doubts:
                with shown_progress(progress, "draws") as told:
                    if told is not None:
                        told(1, 1)
                return errors, doubts
            notes.append(_types_instead(doubts[0]))
    instance = checked_start(problem, draws=draws, seed=seed, workers=workers)
    models = models_of(instance, cast(Names, names))
    for model in models:
        if model.no_theory is not None:
            raise InvalidInput(f"models={model.name!r}: {model.no_theory}")
    notes += [*preparation_notes(problem), *_theorem_notes(instance, models)]
    jobs = [
        {"problem": problem, "models": models, "samples": samples, "seed": seed, "trial": t}
        for t in range(draws)
    ]
    rows: list[PredictedModels] = []
    with shown_progress(progress, "draws") as told:
        within = within_total(told, 0, draws)
        for row in run_jobs(predict_draw, jobs, workers=workers, within=within):
            rows.append(row)
            if told is not None:
                told(len(rows), draws)
    metrics = [row.metrics for row in rows]
    how: dict[str, Any] = {"seed": seed, "samples": samples, "predicted": True, "method": "types"}
    every = [*notes, *(note for row in rows for note in row.notes)]
    return collect(problem, models, metrics, **how), worst_notes(every)


def _types_instead(reason: Note | Exception) -> Note:
    named = f"method='closed': {reason}" if isinstance(reason, Note) else str(reason)
    return Note(NoteKind.TYPES_INSTEAD, detail=named)


def _theorem_notes(instance: Instance, models: Sequence[Model]) -> list[Note]:
    """Return what the Hermite theorem does not cover, if a model is a polynomial."""
    strength, training = instance.scales.strength, instance.problem.training
    if not any(model.degree is not None for model in models):
        return []
    if training.steps > 1 or training.rule != "gradient":
        return [Note(NoteKind.SEVERAL_STEPS, training.steps)]
    return [Note(NoteKind.STRONG_STEP, strength)] if strength >= 1 else []


def check_counts(*, draws: object, seed: object, workers: object) -> None:
    """Raise InvalidInput unless these are whole numbers that a prediction can have."""
    whole_number("draws", draws, least=1)
    whole_number("seed", seed, least=0)
    whole_number("workers", workers, least=1)


def check_method(method: object) -> None:
    """Raise InvalidInput unless theory has a method of this name."""
    if not isinstance(method, str) or method not in METHODS:
        raise InvalidInput(f"method={shown(method)}: must be {' or '.join(METHODS)}; choose one")


def checked_start(problem: Problem, *, draws: int, seed: int, workers: int) -> Instance:
    """Return the instance of the first draw; raise InvalidInput where no prediction can start."""
    require_problem(problem)
    check_counts(draws=draws, seed=seed, workers=workers)
    require(problem)
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


STEP_SHARE = 0.25  # of the time of a prediction, about


def predict_draw(
    problem: Problem,
    models: Sequence[Model],
    *,
    samples: tuple[int, ...] | None = None,
    method: Method = DEFAULT_METHOD,
    seed: int = 0,
    trial: int = 0,
    shared: Shared | None = None,
) -> PredictedModels:
    """Return every model's predictions for one draw, over (steps × samples ×) penalties.

    Methods without draws return the same for every draw.
    """
    instead: tuple[Note, ...] = ()
    if method in NO_DRAWS:
        try:
            closed = ClosedProblem.of(problem)
            (own,) = predict_closed([(closed, closed.models(models))], samples=samples)
            if method == "closed" or not own.notes:
                return own
            instead = (_types_instead(own.notes[0]),)
        except (InvalidInput, Failure) as error:
            if method == "closed":
                raise
            instead = (_types_instead(error),)
    counts = (problem.samples,) if samples is None else samples
    run = _kept_run(problem, models, seed=seed, trial=trial, shared=shared)
    points: dict[str, list[Prediction]] = {model.key: [] for model in models}
    steps = problem.recorded_steps
    # Overflow is not hidden: every result is checked for it.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for place, step in enumerate(steps):
            with section(place / len(steps), (place + 1) / len(steps)):
                for key, own_points in run.predictions(step, counts, problem).items():
                    points[key] += own_points
    rows = () if samples is None else (len(samples),)
    shape = (*((len(steps),) if len(steps) > 1 else ()), *rows, len(problem.ridges))
    found = PredictedModels.of(models, points, shape, "types")
    return replace(found, notes=(*instead, *found.notes))


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

    def predictions(
        self, step: int, samples: tuple[int, ...], problem: Problem
    ) -> dict[str, list[Prediction]]:
        """Return the predictions by model key, over samples × penalties."""
        types = self.types_after(step)
        predictions = {}
        for key, own in types.items():
            predictions[key] = own.predictions(
                samples=samples,
                ridges=problem.ridges,
                loss=problem.readout.loss,
                classes=problem.classes,
            )
            report(STEP_SHARE + (1 - STEP_SHARE) * len(predictions) / len(types))
        return predictions

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
    if not reads_one_projection(teacher):
        mean = teacher.linear_part(gaussian)[0]
        power = teacher.second_moment(gaussian) - teacher.noise**2
        return np.full(len(inputs), mean), np.full(len(inputs), max(power - mean**2, 0.0))
    projections, none = inputs @ teacher.directions[:, 0], np.zeros(len(inputs))
    means = teacher.coefficients_at(projections, none, 0)[0]
    powers = teacher.second_moment_at(projections, none) - teacher.noise**2
    return means, np.maximum(powers - means**2, 0.0)
