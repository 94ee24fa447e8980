"""The plan of a call: what it will compute, how long that takes and what it holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onegrad.closed.problem import ClosedProblem
from onegrad.core.model_names import resolve_models
from onegrad.core.models import NETWORK, Model
from onegrad.core.problem import Problem, resized
from onegrad.describe.numbers import duration, whole_number
from onegrad.machine.cost import INTERPRETER_BYTES, measure_rates, require_memory
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

# Of theory without draws, a model at one point: 0.02 to 0.4 s were measured, whatever n.
CLOSED_SECONDS = 0.2
SOLVE_SECONDS = 0.006  # of the equations by types, per model, penalty and number of samples
TRIED = 16  # penalties that a search by types looks at, about


@dataclass(frozen=True)
class Foreseen:
    """What would be computed, in words; seconds on one core; bytes of a worker at its peak.

    `shares` is among how many workers it can be divided.
    """

    what: str
    seconds: float
    bytes: float
    shares: int = 1

    def said(self, workers: int, *, where: str | None = None) -> str:
        """Return what it takes on so many workers, or on what `where` names."""
        count = min(workers, max(self.shares, 1)) if where is None else 1
        place = where or f"{workers} worker{'s' if workers > 1 else ''}"
        return (
            f"{self.what}; about {duration(self.seconds / count)} on {place}, peak memory about "
            f"{self.bytes / 1e9:.2g} GB per worker"
        )

    def checked(self, workers: int) -> Foreseen:
        """Return it; raise InvalidInput when the workers together need more than there is."""
        require_memory(self.bytes, workers=whole_number("workers", workers, least=1))
        return self


def foresee_simulation(
    problem: Problem,
    models: Sequence[str] | str,
    *,
    trials: int | None = None,
    target_stderr: float | None = None,
    seed: int = 0,
) -> Foreseen:
    """Return what `simulate` would take; with a wanted standard error, of its first trials."""
    check_trials(trials, target_stderr, seed, 1)
    resolved = resolve_models(problem, models, seed=seed)
    count = (DEFAULT_TRIALS if trials is None else trials) if target_stderr is None else None
    trained = count or FIRST_TRIALS
    said = f"{trained} trials of {_named(resolved)}"
    said = said if count else f"{said} first, then as many as the standard error asks for"
    cost = trained * seconds(problem, resolved, measure_rates())
    return Foreseen(said, cost, peak_bytes(problem, resolved), trained)


def foresee_prediction(
    problem: Problem,
    models: Sequence[str] | str,
    *,
    method: Method,
    draws: int,
    samples: Sequence[int] | None = None,
) -> Foreseen:
    """Return what `predict`, or its curve over samples, would take: reductions serve all points."""
    check_method(method)
    check_counts(draws=draws, seed=0, workers=1)
    require(problem)
    closed = ClosedProblem.of(problem).models(models) if method == "closed" else None
    check_mixture_memory(problem)
    resolved = resolve_models(problem, models) if closed is None else closed
    points = len(samples or (1,)) * len(problem.ridges)
    at = "" if points == 1 else f" at {points} points"
    named = f"{_named(resolved)}{at}"
    if method == "closed":
        return _without_draws(named, len(resolved) * points)
    auto = "at most, where theory without draws is not sure, " if method == "auto" else ""
    cost = seconds(problem, resolved, measure_rates(), verb="predict")
    cost = draws * (cost + points * len(resolved) * SOLVE_SECONDS)
    return Foreseen(f"{auto}{draws} draws of {named}", cost, theory_bytes(problem), draws)


def foresee_equivalence(
    problem: Problem,
    degrees: Sequence[int],
    *,
    dimensions: Sequence[int] | None,
    method: Method,
    draws: int,
) -> Foreseen:
    """Return what `equivalence` would take, in all dimensions together."""
    names = ["network", *(f"hermite:{d}" for d in degrees)]
    sizes = [problem] if dimensions is None else [resized(problem, n) for n in dimensions]
    parts = [foresee_prediction(size, names, method=method, draws=draws) for size in sizes]
    at = "" if dimensions is None else f", in each of {len(sizes)} dimensions"
    return Foreseen(
        f"{parts[0].what}{at}",
        sum(part.seconds for part in parts),
        max(part.bytes for part in parts),
        parts[0].shares,
    )


def foresee_tuning(
    problem: Problem,
    over: Sequence[str],
    *,
    method: Method,
    budget: int | None,
    draws: int,
    check_trials: int,
) -> Foreseen:
    """Return what `tune` would take: its first grid, and refinements at the largest width."""
    names = checked_names(problem, over)
    check_method(method)
    check_counts(draws=draws, seed=0, workers=1)
    require(problem)
    require_tunable(problem, method)
    largest = checked_budget(problem, names, budget)
    widths, rates = first_grid(problem, names, largest)
    grid = [(round(w), r) for w in sorted({round(w) for w in widths}) for r in rates]
    around = (1 + 2 * refined_reach(method)) ** ((len(widths) > 1) + (len(rates) > 1)) - 1
    later = REFINEMENTS * around
    points = [*grid, *[(largest if len(widths) > 1 else problem.width, rates[-1])] * later]
    most = "at most " if later else ""
    said = f"{most}{len(points)} widths and learning rates" if len(points) > 1 else "one network"
    if method == "closed":
        foreseen = _without_draws(said, len(points))
    else:
        cost = {p: _draw_seconds(candidate(problem, *p)) for p in set(points)}
        widest = problem.replace(network__width=max(largest, problem.width))
        solved = TRIED if "ridge" in names else 1
        total = draws * sum(cost[point] + solved * SOLVE_SECONDS for point in points)
        foreseen = Foreseen(f"{draws} draws of {said}", total, theory_bytes(widest), len(grid))
    if problem.data.exact_moments or not check_trials:
        return foreseen
    checked = foresee_simulation(problem, ["network"], trials=check_trials)
    return Foreseen(
        f"{foreseen.what}, then {checked.what} to check the fit",
        foreseen.seconds + checked.seconds,
        max(foreseen.bytes, checked.bytes),
        foreseen.shares,
    )


def foresee_steps(problem: Problem, *, trials: int) -> Foreseen:
    """Return what `take_steps`, or observed trials, would take."""
    whole_number("trials", trials, least=1)
    steps = problem.training.steps
    cost = trials * seconds(problem, [NETWORK], measure_rates())
    said = f"{trials} trial{'s' if trials > 1 else ''} of {steps} step{'s' if steps > 1 else ''}"
    return Foreseen(f"{said}, observed after each", cost, peak_bytes(problem, [NETWORK]), trials)


def _draw_seconds(problem: Problem) -> float:
    return seconds(problem, [NETWORK], measure_rates(), verb="predict")


def _without_draws(named: str, answers: int) -> Foreseen:
    """Return the cost of so many answers; what they hold does not depend on the sizes."""
    return Foreseen(f"{named} without draws", answers * CLOSED_SECONDS, 1.5 * INTERPRETER_BYTES)


def _named(models: Sequence[Model]) -> str:
    return ", ".join(model.name for model in models)
