"""The pool of worker processes: order, warnings, what users registered, and deaths."""

import os
import time
import warnings

import numpy as np
import pytest

from onegrad import register_function
from onegrad.calculus import functions
from onegrad.describe.exceptions import Failure
from onegrad.machine import pool
from onegrad.machine.pool import MOST_DEATHS, run_jobs, run_tasks


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


def grow(megabytes):
    """Return the process, which keeps so much memory for good."""
    os.held = bytearray(megabytes * 1_000_000)
    os.held[:: os.sysconf("SC_PAGE_SIZE")] = b"x" * len(os.held[:: os.sysconf("SC_PAGE_SIZE")])
    time.sleep(1.1)  # loky looks once a second
    return os.getpid()


def test_a_worker_that_keeps_much_memory_is_no_leak():
    jobs = [{"megabytes": megabytes} for megabytes in (1, 1, 500, 500, 500, 500)]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        processes = list(run_jobs(grow, jobs, workers=2))
    assert len(set(processes)) <= 2  # none was replaced
    assert said == []


def die():
    os._exit(9)


def test_a_job_that_keeps_killing_its_workers_is_said():
    with pytest.raises(Failure, match="3 died while they ran job 0"):
        list(run_jobs(die, [{}], workers=2))


def die_in_initializer(*_arguments):
    os._exit(9)


def test_a_worker_that_dies_before_it_begins_does_not_count(monkeypatch, tmp_path):
    starts = []
    submit = pool.Worker.submit

    def submit_to_a_dying_one(self, function, arguments):
        starts.append(function)
        if len(starts) <= MOST_DEATHS:  # as often as a job may kill its workers
            return submit(self, die, ())  # ends without having begun a trial
        return submit(self, function, arguments)

    monkeypatch.setattr(pool.Worker, "submit", submit_to_a_dying_one)
    monkeypatch.setattr(pool, "RETRY_SECONDS", 0.0)
    monkeypatch.setattr(pool, "LONGEST_REST_SECONDS", 0.01)
    jobs = [{"path": __file__}] * 1
    assert list(run_jobs(die_once, jobs, workers=2)) == ["alive"]
    assert len(starts) == MOST_DEATHS + 1


def test_workers_that_all_die_early_end_the_run(monkeypatch):
    monkeypatch.setattr(pool, "_prepare", die_in_initializer)
    monkeypatch.setattr(pool, "RETRY_SECONDS", 0.0)
    monkeypatch.setattr(pool, "LONGEST_REST_SECONDS", 0.01)
    monkeypatch.setattr(pool, "MOST_FALSE_STARTS", 3)
    monkeypatch.setattr(pool, "_IDLE", pool._Idle())
    with pytest.raises(Failure, match="3 in a row died before they began a trial"):
        list(run_jobs(die_once, [{"path": __file__}] * 2, workers=2))


def begin_and_die_at(index, deadly):
    """Begin a trial; the process ends once in the job of that index."""
    pool.begin()
    if index == 0 and not os.path.exists(deadly):  # noqa: PTH110 (pickled by value)
        open(deadly, "w").close()  # noqa: PTH123
        os._exit(9)
    return index


def test_what_is_tried_again_comes_last_and_after_a_while(tmp_path, monkeypatch):
    monkeypatch.setattr(pool, "RETRY_SECONDS", 0.3)
    died = []

    def again(task, begun):
        died.append((task, begun, time.monotonic()))
        return [task], None

    mark = str(tmp_path / "mark")
    outcomes = []
    ended = {}
    for outcome in run_tasks(
        begin_and_die_at,
        range(6),
        arguments=lambda index: (index, mark),
        workers=1,
        after_death=again,
    ):
        outcomes.append(outcome)
        ended[outcome] = time.monotonic()
    assert outcomes == [1, 2, 3, 4, 5, 0]
    ((task, begun, when),) = died
    assert (task, begun) == (0, 1)
    assert ended[0] - when >= 0.3


def test_a_worker_killed_right_after_a_call_raises_in_no_thread(monkeypatch):
    raised = []
    monkeypatch.setattr("threading.excepthook", raised.append)
    for _ in range(3):
        worker = pool.Worker()
        worker.submit(os.getpid, ()).result()
        call = worker.submit(time.sleep, (60,))
        worker.kill(wait=True)
        assert call.done()
    assert raised == []
