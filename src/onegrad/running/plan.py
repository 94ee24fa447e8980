"""What sweeps ask for and what is still missing: plans and tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from onegrad.describe.checks import shown, whole_number
from onegrad.describe.digests import digest
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.value_text import complete_str
from onegrad.machine.memory import require_memory
from onegrad.machine.rates import Rates, measure_rates
from onegrad.problem.problem import Problem
from onegrad.problem.registered import registered_marks
from onegrad.running.jobs import Job, Task, stored_key
from onegrad.running.store import Contents, check_writable, has_changed, read
from onegrad.running.sweeps import Setting, Sweep
from onegrad.training.streams import NUMERICS
from onegrad.verbs.cost import peak_bytes, seconds, theory_bytes

TASK_SECONDS = 0.5  # small trials travel together up to about this long
TASKS_PER_WORKER = 4  # but each worker gets several tasks, so that all end together


@dataclass(frozen=True)
class Plan:
    """What sweeps ask for and what is still missing in the folder.

    `seconds` is the estimated time of the missing trials on one core, `bytes` the estimated peak
    memory of the largest trial, `keys` are those of every row that each sweep asks for.
    """

    sweeps: tuple[tuple[Sweep, tuple[Setting, ...]], ...]
    directory: Path
    missing: tuple[Job, ...]
    total: int
    failed: int
    seconds: float
    bytes: float
    contents: Contents
    rates: Rates
    keys: tuple[tuple[str, ...], ...]
    retry_failed: bool = False

    @property
    def settings(self) -> list[Setting]:
        """The settings of all sweeps."""
        return [setting for _, settings in self.sweeps for setting in settings]

    @property
    def stored(self) -> int:
        """Trials that are in the folder already."""
        return self.total - len(self.missing)


def plan_sweep(sweep: Sweep, directory: str | Path, *, retry_failed: bool = False) -> Plan:
    """Return the plan of a sweep into a folder; nothing is written but a missing folder."""
    return plan_sweeps([sweep], directory, retry_failed=retry_failed)


def plan_sweeps(
    sweeps: Sequence[Sweep], directory: str | Path, *, retry_failed: bool = False
) -> Plan:
    """Return one plan of several sweeps into a folder; what they have in common is run once."""
    if not isinstance(directory, str | Path) or not str(directory):
        raise InvalidInput(f"out={directory!r}: must be a folder; name one")
    for sweep in sweeps:
        if not isinstance(sweep, Sweep):
            raise InvalidInput(f"sweep={shown(sweep)}: must be a Sweep; load one with Sweep.load")
    folder = Path(directory)
    check_writable(folder)
    expanded = tuple((sweep, tuple(sweep.settings())) for sweep in sweeps)
    contents = read(folder)
    missing, total, failed = [], 0, 0
    asked: set[str] = set()
    all_keys: list[tuple[str, ...]] = []
    for sweep, settings in expanded:
        of_sweep: dict[str, None] = {}
        for job in (job for setting in settings for job in _jobs(sweep, setting)):
            keys = {}
            for model in job.models:
                key = job.key(model)
                of_sweep[key] = None
                if key not in asked:
                    keys[model] = key
                    asked.add(key)
            total += bool(keys)
            lost = [m for m, key in keys.items() if _is_failed(contents, key)]
            failed += bool(lost)
            wanted = [
                m
                for m, key in keys.items()
                if key not in contents.rows or (retry_failed and m in lost)
            ]
            if wanted:
                missing.append(replace(job, models=tuple(wanted)))
        all_keys.append(tuple(of_sweep))
    rates = measure_rates()
    spent = sum(seconds(job.problem, job.models, rates, verb=job.verb) for job in missing)
    every = (_bytes(sweep, setting) for sweep, settings in expanded for setting in settings)
    needed = max(every, default=0.0)
    return Plan(
        expanded,
        folder,
        tuple(missing),
        total,
        failed,
        spent,
        needed,
        contents,
        rates,
        tuple(all_keys),
        retry_failed,
    )


def renewed(plan: Plan) -> Plan:
    """Return the plan as it is now: what others have stored since is not missing any more."""
    if not has_changed(plan.directory, plan.contents):
        return plan
    sweeps = [sweep for sweep, _ in plan.sweeps]
    return plan_sweeps(sweeps, plan.directory, retry_failed=plan.retry_failed)


def _bytes(sweep: Sweep, setting: Setting) -> float:
    """Return the peak memory of one worker on this setting, over what it does there."""
    simulated = peak_bytes(setting.problem, setting.models) if "simulate" in sweep.verbs else 0.0
    return max(simulated, theory_bytes(setting.problem) if "predict" in sweep.verbs else 0.0)


def check_plan(plan: Plan, *, workers: int) -> None:
    """Raise InvalidInput when the workers together need more memory than this machine has."""
    whole_number("workers", workers, least=1)
    require_memory(plan.bytes, workers=workers)


def _is_failed(contents: Contents, key: str) -> bool:
    return key in contents.rows and contents.rows[key]["status"] == "failed"


def _jobs(sweep: Sweep, setting: Setting) -> Iterator[Job]:
    for verb in sweep.verbs:
        problem, models, count = setting.problem.for_training, setting.models, sweep.trials
        if verb == "predict" and not setting.problem.has_theory:
            continue
        if verb == "predict":
            models = tuple(m for m in models if m.no_theory is None)
            problem, count = setting.problem, sweep.draws_of_theory
        if models:
            for trial in range(count):
                observe = sweep.observe if verb == "simulate" else "no"
                yield Job(verb, problem, models, sweep.seed, trial, sweep.method, observe)


def make_tasks(plan: Plan, workers: int) -> list[Task]:
    """Return the missing jobs in tasks, sweep by sweep and trial by trial.

    What shares draws and products is together. Within a trial problems that differ in the network
    alone come in turn, the widest first. Runs that differ in the number of steps alone stay
    together: the longer goes on from the shorter.
    """
    longest = min(TASK_SECONDS, plan.seconds / (workers * TASKS_PER_WORKER))
    ranks: dict[str, int] = {}  # by problem, the first sweep that asks for it
    places: dict[str, tuple[Any, ...]] = {}
    for rank, (_, settings) in enumerate(plan.sweeps):
        for problem in (p for s in settings for p in (s.problem.for_training, s.problem)):
            ranks.setdefault(problem.digest, rank)
            places[problem.digest] = _place(problem)
    tasks: list[Task] = []
    last: tuple[Any, ...] = ()

    def place_of(job: Job) -> tuple[Any, ...]:
        mark = job.problem.digest
        return ranks[mark], job.trial, job.verb, *places[mark]

    for job in sorted(plan.missing, key=place_of):
        place = place_of(job)
        cost = seconds(job.problem, job.models, plan.rates, verb=job.verb)
        shorter = place[:-2] == last[:-2]
        if place[:3:2] != last[:3:2] or (tasks[-1].cost + cost > longest and not shorter):
            tasks.append(Task([], rank=place[0]))
        tasks[-1].jobs.append(job)
        tasks[-1].cost += cost
        last = place
    return tasks


def _place(problem: Problem) -> tuple[Any, ...]:
    """Return where a problem stands in a trial; without the last two entries, its run's place."""
    fields = problem.to_dict()
    network, readout, training = (fields.pop(n) for n in ("network", "readout", "training"))
    steps = training.pop("steps")
    rest = digest([fields, training, {k: v for k, v in readout.items() if k != "samples"}])
    others = digest([network, readout])
    width, samples = problem.width, problem.samples
    return rest, -width, samples, network["activation"], others, steps, problem.digest


def setting_records(sweep: Sweep, settings: Sequence[Setting]) -> list[dict[str, Any]]:
    """Return what the results need to know of each setting of a sweep."""
    mark = sweep.digest
    return [
        {
            "kind": "setting",
            "sweep": mark,
            "coordinates": {n: _plain(v) for n, v in setting.coordinates.items()},
            "problem": setting.problem.digest,
            "training_problem": setting.problem.for_training.digest,
            "fields": setting.problem.to_dict(),
            "ridges": list(setting.problem.ridges),
            "steps": list(setting.problem.recorded_steps),
            "models": [
                {"name": m.name, "key": stored_key(m), "degree": m.degree} for m in setting.models
            ],
            "seed": sweep.seed,
            "method": sweep.method,
            "numerics": NUMERICS,
            "functions": registered_marks(setting.problem),
        }
        for setting in settings
    ]


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float | str | bool) else complete_str(value)
