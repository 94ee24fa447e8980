"""What a run needs of the machine: memory, worker processes, BLAS threads."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import joblib
from threadpoolctl import threadpool_limits

from onegrad import activations
from onegrad.equivalents import Model
from onegrad.problem import Problem
from onegrad.validation import InvalidInput

T = TypeVar("T")

INTERPRETER_BYTES = 200e6


def peak_bytes(problem: Problem, models: Sequence[Model]) -> float:
    """Return about how many bytes one trial holds at its peak."""
    n, m, k = problem.dimension, problem.samples, problem.width
    size, side = 4 if problem.precision == "mixed" else 8, min(problem.samples, problem.width)
    penalties, parts = len(problem.ridges), len(problem.data.part_labels)
    step = size * (3 * k * n + problem.step_size * n + 5 * k * min(problem.step_size, 1024))
    readout = size * (3 * k * n + m * n + m * k) + 8 * (m * k + side**2)
    readout += 8 * 2 * side**2 if penalties > 1 else 0  # eigenvectors
    readout += size * 40 * k * penalties * parts * max(len(models), 1)  # series of the exact error
    if size == 4:
        readout += 8 * k * n
    if any(model.kind == "conditional" for model in models):
        readout += 8 * (parts * k * k + 8 * min(m, 512) * k)
    return INTERPRETER_BYTES + problem.data.held_bytes + max(step, readout)


def machine_bytes() -> float:
    """Return the memory of this machine, or of its control group where that is smaller.

    Infinite where the system does not tell: then nothing is refused.
    """
    if "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", {}):
        return float("inf")
    total = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    limit = Path("/sys/fs/cgroup/memory.max")
    if limit.exists():
        text = limit.read_text().strip()
        if text.isdigit():
            total = min(total, float(text))
    return total


def theory_bytes(problem: Problem) -> float:
    """Return about how many bytes one predicted draw holds at its peak: Ω, R and a copy."""
    n, k = problem.dimension, problem.width
    return (
        INTERPRETER_BYTES
        + problem.data.held_bytes
        + 8.0 * (3 * k * k + 3 * k * n + problem.step_size * n)
    )


def check_memory(
    problem: Problem, models: Sequence[Model], *, workers: int, theory: bool = False
) -> None:
    """Raise InvalidInput when the workers together need more memory than the machine has."""
    require_memory(
        theory_bytes(problem) if theory else peak_bytes(problem, models), workers=workers
    )


def require_memory(each: float, *, workers: int) -> None:
    """Raise InvalidInput when workers of `each` bytes do not fit the machine together."""
    need, have = workers * each, machine_bytes()
    if need > have:
        fewer = (
            f"use at most {int(have // (need / workers))} workers"
            if need / workers <= have
            else ("lower dimension, samples or width")
        )
        raise InvalidInput(
            f"memory={need / 1e9:.3g} GB: the machine has {have / 1e9:.3g} GB for {workers} "
            f"worker{'s' if workers > 1 else ''} of {need / workers / 1e9:.3g} GB; {fewer}"
        )


def check_mixture_memory(problem: Problem) -> None:
    """Raise InvalidInput when the mixture alone, its directions and means, does not fit here."""
    need = 8.0 * problem.dimension * problem.data.theory_columns
    have = machine_bytes()
    if need > have:
        raise InvalidInput(
            f"memory={need / 1e9:.3g} GB: for the mixture alone, the machine has "
            f"{have / 1e9:.3g} GB; lower dimension={problem.dimension}"
        )


def run_jobs(
    function: Callable[..., T], jobs: Sequence[dict[str, Any]], *, workers: int
) -> Iterator[T]:
    """Yield function(**job) for every job, in order, with one BLAS thread per worker.

    One worker is this process, whose own thread setting is restored afterwards. More are
    processes, started with one BLAS thread in their environment.
    """
    if workers == 1:
        for job in jobs:
            with threadpool_limits(limits=1):
                result = function(**job)
            yield result
        return
    known = activations.registered()
    with joblib.parallel_config(backend="loky", n_jobs=workers, inner_max_num_threads=1):
        parallel = joblib.Parallel(return_as="generator", max_nbytes=None, batch_size=1)
        said: set[str] = set()
        for result, notes in parallel(
            joblib.delayed(_in_worker)(function, job, known) for job in jobs
        ):
            for note in notes:
                if note not in said:
                    said.add(note)
                    warnings.warn(note, stacklevel=2)
            yield result


def _in_worker(
    function: Callable[..., T], job: dict[str, Any], known: dict[str, activations.Activation]
) -> tuple[T, list[str]]:
    """Return the job's result and its warnings, which the caller shows once."""
    activations.adopt(known)
    with threadpool_limits(limits=1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return function(**job), [str(w.message) for w in caught]
