"""The lock of a folder: a live driver keeps it, a dead or silent one does not."""

import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import asdict, replace

import pytest

from conftest import onegrad_here, small
from onegrad import Sweep, run_sweep
from onegrad.describe.files import seal
from onegrad.sweeps import folder_lock
from onegrad.sweeps.folder_lock import (
    NAME,
    Holder,
    StoreBusy,
    hold,
    is_running,
    require_free,
    start_of,
    this_machine,
)

SLEEP = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(60)"]


@pytest.fixture
def other():
    """Yield another process that lives."""
    with subprocess.Popen(SLEEP, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        yield process
        process.kill()


def lock_of(folder, owner, **changes):
    """Write the lock of a process, as a driver there would have."""
    holder = Holder(this_machine(), owner.pid, start_of(owner.pid), "yesterday", "token")
    text = seal(asdict(replace(holder, **changes)), folder_lock.FORMAT)
    (folder / NAME).write_text(text, "utf-8")


def make_old(path, seconds):
    when = time.time() - seconds
    os.utime(path, (when, when))


def sweep():
    return Sweep(problem=small(), models="network", trials=2)


def test_a_live_driver_s_folder_is_refused_in_one_line_and_nothing_is_computed(tmp_path, other):
    lock_of(tmp_path, other)
    with pytest.raises(StoreBusy, match=f"process {other.pid} on .* since yesterday is computing"):
        run_sweep(sweep(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [NAME]
    sweep().save(tmp_path / "sweep.toml")
    done = onegrad_here("sweep", str(tmp_path / "sweep.toml"), "--out", str(tmp_path))
    assert done.returncode == 1
    assert "is computing there" in done.stderr.splitlines()[-1]
    make_old(tmp_path / NAME, 10_000)  # stopped for a while, and it lives: its process tells
    with pytest.raises(StoreBusy):
        run_sweep(sweep(), tmp_path)


def test_what_is_stored_is_shown_beside_a_live_driver(tmp_path, other):
    whole = run_sweep(sweep(), tmp_path).to_frame()
    lock_of(tmp_path, other)
    assert run_sweep(sweep(), tmp_path).to_frame().equals(whole)
    assert (tmp_path / NAME).exists()


def test_a_dead_driver_s_lock_does_not_count(tmp_path, other):
    lock_of(tmp_path, other)
    other.kill()
    deadline = time.monotonic() + 10
    while is_running(other.pid, start_of(other.pid)) and time.monotonic() < deadline:
        time.sleep(0.01)
    require_free(tmp_path)  # dead, though its parent has not noticed yet
    run_sweep(sweep(), tmp_path)
    assert not (tmp_path / NAME).exists()


def test_the_number_of_a_dead_driver_given_to_another_process_does_not_count(tmp_path, other):
    lock_of(tmp_path, other, start="1")
    run_sweep(sweep(), tmp_path)


def test_a_driver_on_another_machine_lives_as_long_as_its_heart_beats(tmp_path, other):
    lock_of(tmp_path, other, machine="elsewhere boot space", process=1)
    with pytest.raises(StoreBusy, match="process 1 on elsewhere since"):
        run_sweep(sweep(), tmp_path)
    make_old(tmp_path / NAME, folder_lock.SILENT_SECONDS - 30)
    with pytest.raises(StoreBusy):
        run_sweep(sweep(), tmp_path)
    make_old(tmp_path / NAME, folder_lock.SILENT_SECONDS + 30)
    run_sweep(sweep(), tmp_path)


@pytest.mark.parametrize("contents", ["", "garbage", seal({"machine": "a"}, folder_lock.FORMAT)])
def test_a_damaged_lock_counts_while_it_is_young(tmp_path, contents):
    (tmp_path / NAME).write_text(contents)
    with pytest.raises(StoreBusy, match="another driver is computing"):
        run_sweep(sweep(), tmp_path)
    make_old(tmp_path / NAME, folder_lock.SILENT_SECONDS + 30)
    run_sweep(sweep(), tmp_path)


@pytest.mark.parametrize("links", [True, False])
def test_of_many_that_find_a_stale_lock_one_has_it_at_a_time(tmp_path, monkeypatch, links, other):
    if not links:

        def refuse(*_paths):
            raise PermissionError("no hard links here")

        monkeypatch.setattr(os, "link", refuse)
    lock_of(tmp_path, other, machine="elsewhere", process=1)
    make_old(tmp_path / NAME, folder_lock.SILENT_SECONDS + 30)
    inside, most, taken = [], [], []
    together = threading.Barrier(6)

    def take(number):
        together.wait()
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                with hold(tmp_path):
                    inside.append(number)
                    most.append(len(inside))
                    time.sleep(0.01)
                    inside.remove(number)
                    taken.append(number)
                    return
            except StoreBusy:
                time.sleep(0.01)

    threads = [threading.Thread(target=take, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == list(range(6))
    assert set(most) == {1}
    assert not list(tmp_path.iterdir())


def test_a_heart_beats_and_notices_that_the_lock_was_taken_over(tmp_path, monkeypatch, other):
    monkeypatch.setattr(folder_lock, "BEAT_SECONDS", 0.02)
    with hold(tmp_path) as beat:
        make_old(tmp_path / NAME, 1000)
        deadline = time.monotonic() + 10
        while (tmp_path / NAME).stat().st_mtime < time.time() - 500:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert not beat.lost
        lock_of(tmp_path, other)
        while not beat.lost:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    assert json.loads((tmp_path / NAME).read_text())["process"] == other.pid  # left to its owner


def test_a_driver_whose_folder_was_taken_over_ends(tmp_path, monkeypatch, other):
    monkeypatch.setattr(folder_lock, "BEAT_SECONDS", 0.01)
    monkeypatch.setattr("onegrad.sweeps.plan.TASK_SECONDS", 0.0)

    def take_over(progress):
        lock_of(tmp_path, other)
        time.sleep(0.05)  # the heart may need several looks on a busy machine

    with pytest.raises(StoreBusy, match="another driver took the folder over"):
        run_sweep(sweep().replace(trials=50), tmp_path, progress=take_over)


def test_what_another_driver_stored_meanwhile_is_not_computed_again(tmp_path, monkeypatch):
    from onegrad.sweeps.driver import run_plan
    from onegrad.sweeps.plan import plan_sweep

    plan = plan_sweep(sweep(), tmp_path)
    run_sweep(sweep(), tmp_path)

    def refuse(*_arguments, **_named):
        raise AssertionError("computed twice")

    monkeypatch.setattr("onegrad.sweeps.plan.run_trial", refuse)
    assert len(run_plan(plan).contents.rows) == 2
    assert not run_plan(plan).contents.failed
