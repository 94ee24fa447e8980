"""Thousands of odd command lines: every one ends, in one line, with a code that is documented."""

import functools
import importlib.util
import io
import os
import signal
import tempfile
from contextlib import contextmanager
from subprocess import CompletedProcess

import click
import pytest
from matplotlib.figure import Figure
from odd_files import make_files
from odd_lines import commands_of, faults, odd_line, write_odd_files

from conftest import onegrad_here
from onegrad.cli.main import cli

LINES = int(os.environ.get("ONEGRAD_FUZZ_LINES", "2000"))
SEED = int(os.environ.get("ONEGRAD_FUZZ_SEED", "1"))
CPU_SECONDS = 0.4  # of one line; what takes longer is valid and large, and is let go
WALL_SECONDS = 20.0
SHARES = 8  # the lines in parts: the first is quick, the others are slow tests


class TookTooLong(BaseException):
    """A line has had its time."""


@contextmanager
def bounded():
    """End what takes too long, of the processor or by the clock; yield the strikes so far.

    A library may turn the stop into an error of its own, so that it is not enough to catch it.
    """
    strikes = []

    def stop(kind, _):
        strikes.append(kind)
        raise TookTooLong

    before = [(kind, signal.signal(kind, stop)) for kind in (signal.SIGPROF, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS, CPU_SECONDS)
    signal.setitimer(signal.ITIMER_REAL, WALL_SECONDS, WALL_SECONDS)
    try:
        yield strikes
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for kind, handler in before:
            signal.signal(kind, handler)


def ended(arguments):
    """Return how a line ended; None where it was let go."""
    try:
        with bounded() as strikes:
            done = onegrad_here(*arguments)
    except TookTooLong:
        return None
    return None if strikes else done


@functools.cache
def import_all():
    """Import what commands import late: a stop within an import would break it for all."""
    for name in ("pandas", "sklearn.datasets", "distributed", "pyarrow.parquet", "xarray"):
        importlib.import_module(name)
    figure = Figure(figsize=(1, 1))
    figure.add_subplot().set_title("β ≥ ½")
    for form in ("pdf", "png"):
        figure.savefig(io.BytesIO(), format=form)


@pytest.fixture
def apart(tmp_path, monkeypatch, tiny, unarranged):
    """Put the process into a folder of odd files, without home, network and large data."""
    from onegrad.data import fashion_mnist
    from onegrad.sweeps import dask

    def refused(*_, **__):
        raise OSError("no network here")

    import_all()
    make_files(tmp_path)
    for name in ("HOME", "XDG_CACHE_HOME", "TMPDIR"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.delenv(fashion_mnist.VARIABLE, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(fashion_mnist, "PACKAGED", tmp_path / "none")
    monkeypatch.setattr(fashion_mnist.urllib.request, "urlopen", refused)
    monkeypatch.setattr(dask, "CONNECT_SECONDS", 0.05)
    if importlib.util.find_spec("onegrad.explorer") is not None:  # a server would not end
        monkeypatch.setattr("onegrad.explorer.server.explore", lambda *_, **__: None)
    monkeypatch.chdir(tmp_path)
    return tmp_path


# A line may have had its time within a callback, which cannot raise; the timer strikes again.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    "share", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, SHARES))]
)
def test_odd_command_lines_end_in_one_line(share, apart):
    counts, wrong = {}, []
    for number in range(share, LINES, SHARES):
        arguments = odd_line(cli, SEED, number)
        write_odd_files(SEED, number)
        done = ended(arguments)
        code = None if done is None else done.returncode
        counts[code] = counts.get(code, 0) + 1
        if done is not None and faults(done):
            wrong.append((number, faults(done), arguments, done.stderr[-600:]))
    print(f"share {share}: {counts}")
    assert not wrong, "\n".join(str(entry)[:2000] for entry in wrong[:20])
    # Lines that are all refused, or all let go, would show nothing.
    total = sum(counts.values())
    assert counts[0] > total / 20
    assert counts[2] > total / 5
    assert counts.get(None, 0) < total / 4


def test_every_command_and_option_is_tried():
    lines = [odd_line(cli, SEED, number) for number in range(2000)]
    for path, command in commands_of(cli):
        own = [line for line in lines if tuple(line[: len(path)]) == path]
        assert own, path
        words = {word.split("=")[0] for line in own for word in line}
        flags = [o for p in command.params if isinstance(p, click.Option) for o in p.opts]
        missing = set(flags) - words
        assert len(missing) <= len(flags) / 10, (path, missing)


def raises(error):
    def broken(**_):
        raise error

    return broken


@pytest.mark.parametrize("error", [ZeroDivisionError("1/0"), AssertionError(), KeyError("a\nb")])
def test_a_broken_command_is_a_defect_and_caught(error, apart, monkeypatch):
    """Negative control: what nobody foresaw is a line and a report, and the fuzzer objects."""
    monkeypatch.setattr(cli.commands["limit"], "callback", raises(error))
    numbers = [n for n in range(200) if odd_line(cli, SEED, n)[0] == "limit"]
    endings = [ended(odd_line(cli, SEED, number)) for number in numbers]
    caught = [done for done in endings if faults(done) == ["exit code 70"]]
    assert caught
    assert len(caught[0].stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("code", "stdout", "stderr", "fault"),
    [
        (1, "", "Traceback (most recent call last):\nValueError: x\n", "traceback"),
        (2, "", "onegrad: x=1: wrong\nmore; of it\n", "a message of several lines, or not ours"),
        (2, "", "onegrad: x=1: wrong\n", "bad input without one line that names the remedy"),
        (2, "table", "onegrad: x=1: wrong; change it\n", "output beside bad input"),
        (2, "", f"onegrad: x={'9' * 800}: wrong; change it\n", "a line that nobody reads"),
        (3, "", "", "exit code 3"),
    ],
)
def test_the_checker_names_the_fault(code, stdout, stderr, fault):
    assert fault in faults(CompletedProcess([], code, stdout, stderr))
    assert not faults(CompletedProcess([], 2, "", "onegrad: x=1: wrong; change it\n"))


def test_a_stop_that_a_library_renames_is_no_fault(apart, monkeypatch):
    def slow(**_):
        try:
            while True:
                sum(range(1000))
        except TookTooLong:
            raise ValueError("renamed") from None

    monkeypatch.setattr(cli.commands["figures"], "callback", slow)
    assert ended(["figures"]) is None
