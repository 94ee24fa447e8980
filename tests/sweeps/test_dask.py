"""Sweeps on Dask: the same rows, though workers die, and addresses that are checked."""

import os
import socket
import subprocess
import sys
import time

import pytest
from sweep_cases import QUICK_ENVIRONMENT, deadly, rows_of, two_hundred

from conftest import onegrad_here, small
from onegrad import InvalidInput, Sweep, run_sweep


def wait_for_port(address):
    """Return when something listens at an address of this machine."""
    deadline = time.monotonic() + 120
    while True:
        try:
            return socket.create_connection(address, timeout=1).close()
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def cluster(tmp_path):
    """Yield the address of a real scheduler that two worker processes have joined, and these."""
    distributed = pytest.importorskip("distributed")
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    dask = [sys.executable, "-m", "dask"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    scheduler = ["scheduler", "--host", address, "--no-dashboard"]
    worker = ["worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    processes = [
        subprocess.Popen([*dask, *arguments], env=QUICK_ENVIRONMENT, **quiet)
        for arguments in (scheduler, worker, worker)
    ]
    wait_for_port(("127.0.0.1", port))
    with distributed.Client(address) as client:
        client.wait_for_workers(2, timeout=120)
    yield address, processes[1:]
    for process in processes:
        process.kill()
        process.wait()


def test_a_dask_cluster_gives_the_same_rows_though_a_worker_is_killed(tmp_path, cluster):
    address, workers = cluster
    sweep = two_hundred(tmp_path)
    killed = []

    def kill_one(progress):
        if progress.done > 20 and not killed:
            workers[0].kill()
            killed.append(workers[0])

    run_sweep(sweep, tmp_path / "dask", dask=address, progress=kill_one)
    assert killed
    run_sweep(sweep, tmp_path / "local", workers=2)
    on_dask, lines = rows_of(tmp_path / "dask")
    assert lines == 200
    assert on_dask == rows_of(tmp_path / "local")[0]


def test_on_dask_only_the_trial_that_kills_workers_is_blamed(tmp_path, monkeypatch):
    config = pytest.importorskip("dask.config")
    deadly(os.getpid())
    axes = {"network.activation": ["deadly", "relu", "tanh"]}
    sweep = Sweep(problem=small(), axes=axes, models="network", trials=1)
    monkeypatch.setattr("onegrad.sweeps.dask.NO_WORKERS_SECONDS", 60)
    monkeypatch.setattr("onegrad.sweeps.driver.MOST_DEATHS", 1)  # a worker takes seconds to start
    # A cluster that gives up the place of a dead worker at once, as it else does on a slow machine.
    with config.set({"distributed.deploy.lost-worker-timeout": "10ms"}):
        found = run_sweep(sweep, tmp_path, dask="local", workers=1)
    assert len(found.contents.rows) == 3
    assert list(found.failures["network.activation"]) == ["deadly"]


def test_a_plan_for_dask_needs_an_address_but_no_cluster(tmp_path):
    two_hundred(tmp_path)
    line = ["sweep", str(tmp_path / "sweep.toml"), "--out", str(tmp_path / "out"), "--plan"]
    for address in ("tcp://[::1]:8786", "host:8786", "local"):
        assert onegrad_here(*line, "--dask", address).returncode == 0
    for address in ("foo://host:1", "tcp://host:0", "tcp://::1:8786", "host"):
        assert onegrad_here(*line, "--dask", address).returncode == 2


def test_a_scheduler_that_does_not_answer_is_refused(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("onegrad.sweeps.dask.CONNECT_SECONDS", 1)
    with pytest.raises(InvalidInput, match="no scheduler answers"):
        run_sweep(two_hundred(tmp_path), tmp_path / "out", dask=f"tcp://127.0.0.1:{free_port()}")
    with pytest.raises(InvalidInput, match="must be local or a scheduler's address"):
        run_sweep(two_hundred(tmp_path), tmp_path / "out", dask="nonsense")
    with pytest.raises(InvalidInput, match="a port up to 65535"):
        run_sweep(two_hundred(tmp_path), tmp_path / "out", dask=f"tcp://host:{'9' * 5000}")
    assert not (tmp_path / "out").exists()
