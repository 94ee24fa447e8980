"""Worker processes with one BLAS thread each."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import joblib
from threadpoolctl import threadpool_limits

from onegrad.describe.registry import Snapshot, adopt, snapshot

T = TypeVar("T")
Progress = Callable[[int, int], None]  # done, total


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
    known = snapshot()
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
    function: Callable[..., T], job: dict[str, Any], known: Snapshot
) -> tuple[T, list[str]]:
    """Return the job's result and its warnings, which the caller shows once."""
    adopt(known)
    with threadpool_limits(limits=1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return function(**job), [str(w.message) for w in caught]
