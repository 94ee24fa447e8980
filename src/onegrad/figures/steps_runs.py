"""The runs behind panels of giant steps: planned, run, kept as JSON files, and read again."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onegrad.describe.digests import digest
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.files import make_folder, replace_file
from onegrad.figures.panel import Scale
from onegrad.figures.panels.giant import STEPS_STUDIES
from onegrad.figures.steps_study import StepsPanel
from onegrad.machine.memory import require_memory
from onegrad.machine.pool import run_jobs
from onegrad.machine.rates import Rates
from onegrad.steps.saved import run_key
from onegrad.steps.steps_problem import StepsProblem
from onegrad.steps.take import steps_bytes, take_steps

STORE = "steps"  # the folder of runs inside the output folder


@dataclass(frozen=True)
class Run:
    """One run of a study: where it stands along the axes, and the file that keeps it."""

    study: str
    coordinates: dict[str, Any]
    problem: StepsProblem
    seed: int
    trial: int
    path: Path


@dataclass(frozen=True)
class StepsPlan:
    """The runs that panels ask for."""

    runs: tuple[Run, ...]

    @property
    def missing(self) -> list[Run]:
        """The runs without a file."""
        return [run for run in self.runs if not run.path.exists()]

    def of(self, study: str) -> list[tuple[Run, dict[str, Any]]]:
        """Return the study's runs with what they found."""
        return [(run, _read(run)) for run in self.runs if run.study == study]


def plan_steps(
    panels: Sequence[StepsPanel], scale: Scale, *, seed: int, directory: Path
) -> StepsPlan:
    """Return the runs of these panels at a scale; nothing is written."""
    runs = []
    for name in dict.fromkeys(panel.study for panel in panels):
        study = STEPS_STUDIES[name]
        for coordinates, problem in study.settings(scale):
            for trial in range(study.count(scale)):
                key = digest([run_key(problem, seed, trial), problem.steps, study.neurons])
                path = directory / STORE / f"{key[:32]}.json"
                runs.append(Run(name, coordinates, problem, seed, trial, path))
    return StepsPlan(tuple(runs))


def run_steps(
    plan: StepsPlan, *, workers: int = 1, progress: Callable[[int], None] | None = None
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


def _take(run: Run) -> None:
    """Take the steps of a run and write its file; a killed one continues from its state."""
    state = run.path.with_suffix(".npz")
    result = take_steps(run.problem, seed=run.seed, trial=run.trial, state=state)
    found = result.to_dict(neurons=STEPS_STUDIES[run.study].neurons)
    text = json.dumps(found, allow_nan=False)
    replace_file(run.path, lambda p: p.write_text(text, "utf-8"))
    state.unlink(missing_ok=True)


def _read(run: Run) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(run.path.read_text("utf-8"))
        _require_whole(run, found)
    except (OSError, ValueError, KeyError, TypeError):
        raise InvalidInput(
            f"file={str(run.path)!r}: is not the result of its run; remove it and start again"
        ) from None
    return found


def _require_whole(run: Run, found: dict[str, Any]) -> None:
    """Raise ValueError, KeyError or TypeError unless all that tables read is there."""
    if found["digest"] != run.problem.digest or found["trial"] != run.trial:
        raise ValueError("another run")
    rank, width = run.problem.teacher.rank, run.problem.width
    _require_numbers([found["noise_radius"]], 1)
    _require_numbers(found["first_direction"], rank)
    if [step["step"] for step in found["steps"]] != list(range(run.problem.steps + 1)):
        raise ValueError("steps are missing")
    for step in found["steps"]:
        spikes = step["features"]
        _require_numbers([step["test_mse"], spikes["edge"]], 2)
        _require_numbers(spikes["singular_values"], len(spikes["singular_values"]))
        for overlaps in spikes["overlaps"]:
            _require_numbers(overlaps, len(overlaps))
        _ = spikes["observed"], spikes["predicted"]
        for name in ("gradient", "weights") if step["step"] else ("weights",):
            rows = step[name]
            _ = rows["median_angle"]
            _require_numbers([rows["outside_fraction"], *rows["overlap"]], 1 + rank)
            if STEPS_STUDIES[run.study].neurons:
                if len(rows["overlaps"]) != width:
                    raise ValueError("neurons are missing")
                for row in rows["overlaps"]:
                    _require_numbers(row, rank)


def _require_numbers(values: Any, count: int) -> None:
    if len(values) != count or not all(isinstance(v, int | float) for v in values):
        raise ValueError(f"must be {count} numbers")


def work(problem: StepsProblem, rates: Rates | None = None) -> float:
    """Return about how many floating-point operations a run takes, or seconds at these rates."""
    d, p, steps = problem.dimension, problem.width, problem.steps
    batch, readout, test = problem.batch_size, problem.readout_size, problem.test_samples
    linear = problem.subtract == "linear"
    side, records = min(p, d), steps + 1
    products = steps * (4.0 * p * d * batch + 4.0 * p * d * side)
    products += records * (2.0 * p * d * (readout + test) + 1.0 * p * p * readout)
    # The linear part is found once for every batch; a fresh readout has one of its own.
    estimated = linear * (steps * batch + (readout if problem.readout == "fresh" else 0))
    products += 1.0 * d * d * estimated
    reductions = records * 4 / 3 * p**3 + 2 * steps * 4 / 3 * side**3
    if rates is None:
        return products + 4 * reductions
    drawn = d * (steps * batch + records * (readout + test) + estimated)
    elements = 2.0 * p * (2 * steps * batch + records * (readout + test))
    return (
        products / rates.product
        + reductions / rates.reduction
        + drawn / rates.normal
        + elements / rates.element
    )


def estimated_steps_seconds(panel: StepsPanel, scale: Scale, rates: Rates) -> float:
    """Return about how long the panel's runs take on one core."""
    study = STEPS_STUDIES[panel.study]
    return study.count(scale) * sum(work(problem, rates) for _, problem in study.settings(scale))
