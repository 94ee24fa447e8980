"""The plan of a command: its jobs, how long they take and how much memory they need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from onegrad.closed.problem import ClosedProblem
from onegrad.core.model_names import resolve_models
from onegrad.core.models import NETWORK, Model
from onegrad.core.problem import Problem, resized
from onegrad.describe.numbers import duration, whole_number
from onegrad.machine.cost import INTERPRETER_BYTES, Rates, measure_rates, require_memory
from onegrad.theory.methods import Method, require
from onegrad.verbs.cost import check_mixture_memory, peak_bytes, seconds, theory_bytes
from onegrad.verbs.predict import check_counts, check_method
from onegrad.verbs.simulate import DEFAULT_TRIALS, FIRST_TRIALS, check_trials
from onegrad.verbs.tune import (
    REFINEMENTS,
    candidate,
    checked_budget,
    checked_names,
    first_grid,
    refined_reach,
    require_tunable,
)

# The closed theory takes 0.02 to 0.4 s per model and point, whatever n.
CLOSED_SECONDS, CLOSED_BYTES = 0.2, 1.5 * INTERPRETER_BYTES
SOLVE_SECONDS = 0.006  # of the equations by types, per model, penalty and number of samples
SEARCHED_PENALTIES = 16  # that `tune` solves by types, about


@dataclass(frozen=True)
class PlannedJob:
    """One computation that is repeated `times`: trials of a problem, or draws of its theory.

    Theory is solved at `points` penalties and numbers of samples.
    """

    verb: Literal["simulate", "predict", "closed"]
    problem: Problem
    models: Sequence[Model]
    times: int = 1
    points: int = 0

    def seconds(self, rates: Rates) -> float:
        """Return about how long all repetitions take on one core."""
        solved = self.points * len(self.models)
        if self.verb == "closed":
            return self.times * solved * CLOSED_SECONDS
        once = seconds(self.problem, self.models, rates, verb=self.verb)
        return self.times * (once + solved * SOLVE_SECONDS)

    @property
    def bytes(self) -> float:
        """The peak memory of one repetition, about."""
        if self.verb == "closed":
            return CLOSED_BYTES
        if self.verb == "predict":
            return theory_bytes(self.problem)
        return peak_bytes(self.problem, self.models)


@dataclass(frozen=True)
class CostEstimate:
    """The work of a command in words, its seconds on one core, and a worker's peak memory.

    At most `shares` workers can divide the work.
    """

    what: str
    seconds: float
    bytes: float
    shares: int = 1

    def sentence(self, workers: int, *, place: str | None = None) -> str:
        """Return the estimate for so many workers, or for one worker at a named `place`."""
        count = min(workers, max(self.shares, 1)) if place is None else 1
        place = place or f"{workers} worker{'s' if workers > 1 else ''}"
        return (
            f"{self.what}; about {duration(self.seconds / count)} on {place}, peak memory about "
            f"{self.bytes / 1e9:.2g} GB per worker"
        )

    def checked(self, workers: int) -> CostEstimate:
        """Return the estimate; raise InvalidInput if the workers together lack memory."""
        require_memory(self.bytes, workers=whole_number("workers", workers, least=1))
        return self


def plan(what: str, jobs: Sequence[PlannedJob], *, shares: int = 1) -> CostEstimate:
    """Return the cost of all jobs together."""
    rates = measure_rates()
    total = sum(job.seconds(rates) for job in jobs)
    return CostEstimate(what, total, max(job.bytes for job in jobs), shares)


def plan_simulation(
    problem: Problem,
    models: Sequence[str] | str,
    *,
    trials: int | None = None,
    target_stderr: float | None = None,
    seed: int = 0,
) -> CostEstimate:
    """Return the cost of `simulate`; with a target standard error, of the first trials."""
    check_trials(trials, target_stderr, seed, 1)
    resolved = resolve_models(problem, models, seed=seed)
    count = FIRST_TRIALS if target_stderr is not None else trials or DEFAULT_TRIALS
    what = f"{count} trials of {_names(resolved)}"
    if target_stderr is not None:
        what += " first, then as many as the standard error asks for"
    return plan(what, [PlannedJob("simulate", problem, resolved, count)], shares=count)


def plan_prediction(
    problem: Problem,
    models: Sequence[str] | str,
    *,
    method: Method,
    draws: int,
    samples: Sequence[int] | None = None,
    dimensions: Sequence[int] | None = None,
) -> CostEstimate:
    """Return the cost of `predict`, of a curve over samples, or of one in several dimensions."""
    check_method(method)
    check_counts(draws=draws, seed=0, workers=1)
    points = len(samples or (1,)) * len(problem.ridges)
    jobs = []
    for size in [problem] if dimensions is None else [resized(problem, n) for n in dimensions]:
        require(size)
        closed = ClosedProblem.of(size).models(models) if method == "closed" else None
        check_mixture_memory(size)
        if closed is None:
            jobs.append(PlannedJob("predict", size, resolve_models(size, models), draws, points))
        else:
            jobs.append(PlannedJob("closed", size, closed, points=points))
    what = _names(jobs[0].models) + ("" if points == 1 else f" at {points} points")
    what = f"{what} without draws" if method == "closed" else f"{draws} draws of {what}"
    if method == "auto":
        what = f"at most, where theory without draws is not sure, {what}"
    if dimensions is not None:
        what += f", in each of {len(jobs)} dimensions"
    return plan(what, jobs, shares=jobs[0].times)


def plan_tuning(
    problem: Problem,
    over: Sequence[str],
    *,
    method: Method,
    budget: int | None,
    draws: int,
    check_trials: int,
) -> CostEstimate:
    """Return the cost of `tune`: its first grid, and refinements at the largest width."""
    names = checked_names(problem, over)
    check_method(method)
    check_counts(draws=draws, seed=0, workers=1)
    require(problem)
    require_tunable(problem, method)
    largest = checked_budget(problem, names, budget)
    widths, rates = first_grid(problem, names, largest)
    grid = [(round(w), r) for w in sorted({round(w) for w in widths}) for r in rates]
    around = (1 + 2 * refined_reach(method)) ** ((len(widths) > 1) + (len(rates) > 1)) - 1
    refined = (largest if len(widths) > 1 else problem.width, rates[-1])
    points = Counter([*grid, *[refined] * REFINEMENTS * around])
    count, shares = points.total(), 1
    what = f"{count} widths and learning rates" if count > 1 else "one network"
    what = f"at most {what}" if around else what
    if method == "closed":
        what = f"{what} without draws"
        jobs = [PlannedJob("closed", problem, [NETWORK], count, points=1)]
    else:
        what, shares = f"{draws} draws of {what}", len(grid)
        solved = SEARCHED_PENALTIES if "ridge" in names else 1
        jobs = [
            PlannedJob("predict", candidate(problem, *point), [NETWORK], draws * times, solved)
            for point, times in points.items()
        ]
    if check_trials and not problem.data.exact_moments:
        what += f", then {check_trials} trials of network to check the fit"
        jobs.append(PlannedJob("simulate", problem, [NETWORK], check_trials))
    return plan(what, jobs, shares=shares)


def plan_steps(problem: Problem, *, trials: int) -> CostEstimate:
    """Return the cost of `take_steps`, or of observed trials."""
    whole_number("trials", trials, least=1)
    steps = problem.training.steps
    what = f"{trials} trial{'s' if trials > 1 else ''} of {steps} step{'s' if steps > 1 else ''}"
    what += ", observed after each"
    return plan(what, [PlannedJob("simulate", problem, [NETWORK], trials)], shares=trials)


def _names(models: Sequence[Model]) -> str:
    return ", ".join(model.name for model in models)
