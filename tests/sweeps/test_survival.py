"""Sweeps survive: kills of the driver and of workers, failures, full disks, interrupts."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from sweep_cases import QUICK_ENVIRONMENT, deadly, rows_of, two_hundred

from conftest import onegrad_here, small
from onegrad import InvalidInput, Sweep, run_sweep
from onegrad.machine.pool import MOST_DEATHS
from onegrad.machine.signals import stop_on_signals
from onegrad.sweeps.driver import SweepInterrupted, _after_death
from onegrad.sweeps.plan import Job, Task
from onegrad.sweeps.store import Writer, read

MAIN = "from onegrad.cli.main import main; main()"
# Under nohup or in the background a process begins with signals ignored, and so do its children.
HEED_SIGNALS = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
"""
FULL_DISK = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
"""


def start(tmp_path, out, *options, first=""):
    """Start a sweep in a process of its own, which runs other code first."""
    file = str(tmp_path / "sweep.toml")
    return subprocess.Popen(
        [sys.executable, "-c", first + MAIN, "sweep", file, "--out", str(out), *options],
        env=QUICK_ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def swept(tmp_path):
    """Return how a sweep ended, run in this process."""
    return onegrad_here("sweep", str(tmp_path / "sweep.toml"), "--out", str(tmp_path / "out"))


def wait_for_rows(process, out, count):
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        if rows_of(out)[1] >= count:
            return
        time.sleep(0.01)


# Runs the command in copies of itself, each of which kills itself before or after the n-th write.
KILLED_DRIVERS = """
import json, os, signal, sys
import onegrad.cli.output, onegrad.cli.output
from onegrad.cli.main import run_command
from onegrad.sweeps import plan
from onegrad.sweeps.store import Writer

plan.TASK_SECONDS = 0.0  # a row a write, however quick the machine: every driver has rows to write

def run(arguments, writes, before):
    append, count = Writer.append, 0
    def killed(self, records):
        nonlocal count
        count += 1
        if count == writes and before:
            os.kill(os.getpid(), signal.SIGKILL)
        append(self, records)
        if count == writes:
            os.kill(os.getpid(), signal.SIGKILL)
    Writer.append = killed
    os._exit(run_command(arguments))

for arguments, writes, before in json.loads(sys.argv[1]):
    child = os.fork()
    if child == 0:
        run(arguments, writes, before)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)  # once: forks copy it
"""


def test_ten_kills_lose_nothing_and_compute_nothing_twice(tmp_path):
    sweep = two_hundred(tmp_path)
    out = tmp_path / "killed"
    plans = []
    for kill in range(10):
        where = ["--out", str(out), "--workers", "2" if kill in (3, 7) else "1"]
        plans.append((["sweep", str(tmp_path / "sweep.toml"), *where], 2, kill % 3 == 0))
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_DRIVERS, json.dumps(plans)],
        env=QUICK_ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert killed.stdout.split() == [str(-signal.SIGKILL)] * 10, killed.stderr
    assert (
        rows_of(out)[1] == 2 * 6 + 1 * 3
    )  # kills after the second write, and before it; one settings
    run_sweep(sweep, out)
    run_sweep(sweep, tmp_path / "whole", workers=2)
    rows, lines = rows_of(out)
    assert lines == len(rows) == 200
    assert rows == rows_of(tmp_path / "whole")[0]


def test_rows_do_not_depend_on_the_number_of_workers(tmp_path):
    sweep = Sweep(
        problem=small(),
        axes={"network.width": [10, 30], "network.activation": ["relu", "tanh"]},
        models="network,hermite,linear,conditional",
        verbs="simulate,predict",
        trials=4,
    )
    rows = []
    for workers in (1, 3):
        run_sweep(sweep, tmp_path / str(workers), workers=workers)
        rows.append(rows_of(tmp_path / str(workers))[0])
    assert len(rows[0]) == 4 * (4 * 4 + 3 * 4)
    assert rows[0] == rows[1]


def test_only_the_trial_that_a_worker_died_with_counts_the_death():
    jobs = [Job("simulate", small(), (), 0, trial) for trial in range(4)]
    again, outcome = _after_death(Task(jobs), 3)
    assert outcome is None
    assert [(task.jobs, task.deaths) for task in again] == [
        ([job], int(job.trial == 2)) for job in jobs
    ]
    again, outcome = _after_death(Task(jobs[:1], MOST_DEATHS - 1), 1)
    assert (again, outcome.failed) == ([], 1)


def test_a_killed_worker_is_replaced_and_its_trial_retried(tmp_path):
    psutil = pytest.importorskip("psutil")
    sweep = two_hundred(tmp_path)
    killed = []

    def kill_one(progress):
        if progress.done > 20 and not killed:
            workers = [
                child
                for child in psutil.Process().children(recursive=True)
                if "loky" in " ".join(child.cmdline()) and "tracker" not in str(child.cmdline())
            ]
            workers[0].kill()
            killed.append(workers[0].pid)

    run_sweep(sweep, tmp_path / "out", workers=2, progress=kill_one)
    assert killed
    assert not read(tmp_path / "out").failed
    run_sweep(sweep, tmp_path / "whole", workers=1)
    assert rows_of(tmp_path / "out")[0] == rows_of(tmp_path / "whole")[0]


def test_a_trial_that_keeps_killing_its_workers_is_recorded_and_the_rest_goes_on(tmp_path):
    deadly(os.getpid())
    axes = {"network.activation": ["deadly", "relu"]}
    sweep = Sweep(problem=small(), axes=axes, models="network", trials=1)
    found = run_sweep(sweep, tmp_path, workers=2)
    assert len(found.contents.rows) == 2
    assert len(found.contents.failed) == 1
    assert set(found.failures["network.activation"]) == {"deadly"}
    assert "workers died" in found.failures["error"][0]


def broken_sweep(tmp_path):
    axes = {"scaling.learning_rate": [1.0, 1e300]}
    problem = small(scaling={"learning_rate": 1.0, "spread": 2.0})
    sweep = Sweep(problem=problem, axes=axes, models="network,linear", trials=2)
    sweep.save(tmp_path / "sweep.toml")
    return sweep


def test_a_failed_trial_is_a_row_and_the_sweep_ends_with_exit_code_1(tmp_path):
    broken_sweep(tmp_path)
    done = swept(tmp_path)
    errors = done.stderr
    assert done.returncode == 1
    assert "4 rows failed; --retry-failed computes them again" in errors
    assert "onegrad: 2 x " in errors or "onegrad: 4 x " in errors
    assert "Traceback" not in errors
    rows = read(tmp_path / "out").rows
    assert sorted(row["status"] for row in rows.values()) == ["failed"] * 4 + ["ok"] * 4
    assert all("Traceback" in r["traceback"] for r in rows.values() if r["status"] == "failed")


def test_only_failed_trials_are_retried_with_the_same_seed(tmp_path, monkeypatch):
    sweep = broken_sweep(tmp_path)
    real = __import__("onegrad.sweeps.plan", fromlist=["run_trial"]).run_trial
    calls = []

    def watched(problem, models, **where):
        calls.append((problem.scaling.learning_rate, where["seed"], where["trial"]))
        return real(problem.replace(scaling__learning_rate=1.0), models, **where)

    run_sweep(sweep, tmp_path / "out")
    assert len(read(tmp_path / "out").failed) == 4
    monkeypatch.setattr("onegrad.sweeps.plan.run_trial", watched)
    run_sweep(sweep, tmp_path / "out")
    assert calls == []
    found = run_sweep(sweep, tmp_path / "out", retry_failed=True)
    assert sorted(calls) == [(1e300, 0, 0), (1e300, 0, 1)]
    assert not found.contents.failed
    assert len(found.contents.rows) == 8


def test_failures_of_another_sweep_do_not_fail_this_one(tmp_path):
    run_sweep(broken_sweep(tmp_path), tmp_path / "out")
    good = Sweep(problem=small(), models="network", trials=1)
    good.save(tmp_path / "sweep.toml")
    done = swept(tmp_path)
    assert done.returncode == 0, done.stderr
    assert "failed" not in done.stderr


SIGNALS = [
    (signal.SIGINT, "interrupted"),
    pytest.param(signal.SIGHUP, "ended by SIGHUP", marks=pytest.mark.slow),
    pytest.param(signal.SIGTERM, "ended by SIGTERM", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("number", "how"), SIGNALS)
def test_a_signal_stops_cleanly_and_says_how_to_continue(tmp_path, number, how):
    psutil = pytest.importorskip("psutil")
    # Trials of a size that no machine does 200 of between two looks at the rows.
    two_hundred(tmp_path, dimension=300, readout__samples=600, network__width=500)
    process = start(tmp_path, tmp_path / "out", "--workers", "2", first=HEED_SIGNALS)
    wait_for_rows(process, tmp_path / "out", 5)
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    stored, lines = rows_of(tmp_path / "out")
    assert len(stored) == lines
    said = f"{how}; {lines} of 200 trials are stored; start the same command again to continue"
    assert errors.splitlines()[-1] == f"onegrad: {said}"
    assert "Traceback" not in errors
    assert children
    _, alive = psutil.wait_procs(children, timeout=60)
    assert not alive
    assert not read(tmp_path / "out").torn
    assert not (tmp_path / "out" / "driver.lock").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_row_that_is_written_when_a_signal_comes_is_counted(tmp_path, monkeypatch, number):
    append, calls = Writer.append, []

    def interrupted(self, records):
        append(self, records)
        calls.append(number)
        if len(calls) == 4:  # settings, then rows
            os.kill(os.getpid(), number)

    monkeypatch.setattr(Writer, "append", interrupted)
    monkeypatch.setattr("onegrad.sweeps.plan.TASK_SECONDS", 0.0)
    before = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    signal.signal(signal.SIGINT, signal.default_int_handler)  # nohup and the like ignore
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # these two
    stop_on_signals()
    try:
        with pytest.raises(SweepInterrupted, match="3 of 200 trials are stored"):
            run_sweep(two_hundred(tmp_path), tmp_path / "out")
    finally:
        for other, handler in before.items():
            signal.signal(other, handler)
    assert rows_of(tmp_path / "out")[1] == 3


def test_a_signal_that_is_ignored_stays_so():
    code = (
        "import os, signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "from onegrad.machine.signals import stop_on_signals; stop_on_signals()\n"
        "os.kill(os.getpid(), signal.SIGHUP); print('lives')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "lives\n"


def test_a_full_disk_is_said_and_finished_rows_stay(tmp_path):
    two_hundred(tmp_path)
    process = start(tmp_path, tmp_path / "out", first=FULL_DISK)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "finished rows are intact" in errors
    assert "Traceback" not in errors
    contents = read(tmp_path / "out")
    assert contents.rows
    assert len(contents.torn) <= 1


def test_an_unwritable_folder_is_refused(tmp_path):
    sweep = two_hundred(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="cannot be written"):
        run_sweep(sweep, tmp_path / "file")
