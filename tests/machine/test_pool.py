"""The pool of worker processes: order, warnings, what users registered, and deaths."""

import os
import time
import warnings

import numpy as np
import pytest

from onegrad import register_function
from onegrad.calculus import functions
from onegrad.describe.exceptions import Failure
from onegrad.machine.pool import run_jobs


def later(index):
    """Return the index and the process, sooner for later jobs."""
    time.sleep(0.2 * (index == 0))
    warnings.warn("said by a worker", stacklevel=1)
    return index, os.getpid()


def test_results_come_in_order_from_other_processes_and_warnings_once():
    with pytest.warns(UserWarning, match="said by a worker") as said:
        results = list(run_jobs(later, [{"index": i} for i in range(6)], workers=2))
    assert [index for index, _ in results] == list(range(6))
    assert os.getpid() not in {process for _, process in results}
    assert len(said) == 1


def evaluate(text):
    return float(functions.get(text)(np.array([3.0]))[0])


def test_workers_know_what_was_registered_after_they_started(monkeypatch):
    monkeypatch.setattr(functions.FUNCTIONS, "entries", dict(functions.FUNCTIONS.entries))
    jobs = [{"text": "scaled(z) + 1"}] * 2
    for scale in (2.0, 5.0):
        register_function("scaled", lambda z, scale=scale: scale * z)
        assert list(run_jobs(evaluate, jobs, workers=2)) == [3 * scale + 1] * 2


def die_once(path):
    """End the process unless the file is there already."""
    if not os.path.exists(path):  # noqa: PTH110 (pickled by value: no imports of its own)
        open(path, "w").close()  # noqa: PTH123
        os._exit(9)
    return "alive"


def test_a_job_whose_worker_died_is_tried_again(tmp_path):
    assert list(run_jobs(die_once, [{"path": str(tmp_path / "mark")}] * 1, workers=2)) == ["alive"]


def die():
    os._exit(9)


def test_a_job_that_keeps_killing_its_workers_is_said():
    with pytest.raises(Failure, match="3 died while they ran job 0"):
        list(run_jobs(die, [{}], workers=2))
