"""The runs behind panels of giant steps: planned, run, kept as JSON files, and read again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onegrad.describe.digests import digest
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.files import make_folder, replace_file
from onegrad.figures.giant_cost import work
from onegrad.figures.giant_study import GiantStudy
from onegrad.figures.panel import Scale
from onegrad.machine.memory import require_memory
from onegrad.machine.pool import run_jobs
from onegrad.steps.saved import run_key
from onegrad.steps.steps_problem import StepsProblem
from onegrad.steps.take import steps_bytes, take_steps

STORE = "steps"  # the folder of runs inside the output folder
RunResults = list[tuple["GiantRun", dict[str, Any]]]


@dataclass(frozen=True)
class GiantRun:
    """One run of a study: where it stands along the axes, and the file that keeps it.

    `neurons`: every neuron's overlaps are stored too.
    """

    study: str
    coordinates: dict[str, Any]
    problem: StepsProblem
    seed: int
    trial: int
    neurons: bool
    path: Path


@dataclass(frozen=True)
class GiantPlan:
    """The runs that panels ask for."""

    runs: tuple[GiantRun, ...]

    @property
    def missing(self) -> list[GiantRun]:
        """The runs without a file."""
        return [run for run in self.runs if not run.path.exists()]

    def of(self, study: str) -> RunResults:
        """Return the study's runs with their results."""
        return [(run, _read(run)) for run in self.runs if run.study == study]


def plan_giant(
    studies: Mapping[str, GiantStudy], scale: Scale, *, seed: int, directory: Path
) -> GiantPlan:
    """Return the runs of these studies at a scale; nothing is written."""
    runs = []
    for name, study in studies.items():
        for coordinates, problem in study.settings(scale):
            for trial in range(study.count(scale)):
                key = digest([run_key(problem, seed, trial), problem.steps, study.neurons])
                path = directory / STORE / f"{key[:32]}.json"
                run = GiantRun(name, coordinates, problem, seed, trial, study.neurons, path)
                runs.append(run)
    return GiantPlan(tuple(runs))


def run_giant(
    plan: GiantPlan, *, workers: int = 1, progress: Callable[[int], None] | None = None
) -> None:
    """Take the missing steps, the longest runs first; `progress(done)` after every run."""
    missing = sorted(plan.missing, key=lambda run: -work(run.problem))
    if not missing:
        return
    require_memory(max(steps_bytes(run.problem) for run in missing), workers=workers)
    folder = missing[0].path.parent
    make_folder(folder, field="out")
    jobs = [{"run": run} for run in missing]
    for done, _ in enumerate(run_jobs(_take, jobs, workers=workers), start=1):
        if progress is not None:
            progress(done)


def _take(run: GiantRun) -> None:
    """Take the steps of a run and write its file; a killed one continues from its state."""
    state = run.path.with_suffix(".npz")
    result = take_steps(run.problem, seed=run.seed, trial=run.trial, state=state)
    text = json.dumps(result.to_dict(neurons=run.neurons), allow_nan=False)
    replace_file(run.path, lambda p: p.write_text(text, "utf-8"))
    state.unlink(missing_ok=True)


def _read(run: GiantRun) -> dict[str, Any]:
    """Return what a run's file holds, checked."""
    try:
        result: dict[str, Any] = json.loads(run.path.read_text("utf-8"))
        _require_whole(run, result)
    except (OSError, ValueError, KeyError, TypeError):
        raise InvalidInput(
            f"file={str(run.path)!r}: is not the result of its run; remove it and start again"
        ) from None
    return result


def _require_whole(run: GiantRun, result: dict[str, Any]) -> None:
    """Raise ValueError, KeyError or TypeError unless all that tables read is there."""
    if result["digest"] != run.problem.digest or result["trial"] != run.trial:
        raise ValueError("another run")
    _require_numbers([result["noise_radius"]], 1)
    _require_numbers(result["first_direction"], run.problem.teacher.rank)
    if [step["step"] for step in result["steps"]] != list(range(run.problem.steps + 1)):
        raise ValueError("steps are missing")
    for step in result["steps"]:
        _require_whole_step(run, step)


def _require_whole_step(run: GiantRun, step: dict[str, Any]) -> None:
    """Raise the same unless errors, spectrum and overlaps of a step are there."""
    rank, spikes = run.problem.teacher.rank, step["features"]
    _require_numbers([step["test_mse"], spikes["edge"]], 2)
    _require_numbers(spikes["singular_values"], len(spikes["singular_values"]))
    for overlaps in spikes["overlaps"]:
        _require_numbers(overlaps, len(overlaps))
    _ = spikes["observed"], spikes["predicted"]
    for name in ("gradient", "weights") if step["step"] else ("weights",):
        rows = step[name]
        _ = rows["median_angle"]
        _require_numbers([rows["outside_fraction"], *rows["overlap"]], 1 + rank)
        if run.neurons:
            if len(rows["overlaps"]) != run.problem.width:
                raise ValueError("neurons are missing")
            for row in rows["overlaps"]:
                _require_numbers(row, rank)


def _require_numbers(values: Any, count: int) -> None:
    if len(values) != count or not all(isinstance(v, int | float) for v in values):
        raise ValueError(f"must be {count} numbers")
