"""No traceback, whatever the input and wherever the output goes; a defect leaves a report."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from odd_files import SMALL_SWEEP, exabytes

from conftest import onegrad_here
from onegrad.cli import main
from onegrad.cli.main import LONGEST_LINE, LONGEST_WORD, cli, shortened

SMALL = ["--dimension", "12", "--samples", "14"]
LIMIT = ["--step-ratio", "1", "--rate", "1", "--width-ratio", "1", "--ridge", "1"]
DIGITS = "9" * 400
BAD = [
    (["simulate", *SMALL, "--width-ratio", "1e308"], "gives more than 1e+09 neurons"),
    (["simulate", *SMALL, "--target-stderr", "1e-320"], "must lie between 1e-06 and 1"),
    (["limit", *LIMIT, "--sample-ratio", "1e308"], "the equations overflow"),
    (["simulate", "--data", "~nouser/x.npz"], "no such user's folder"),
    (["simulate", "--data", "big.npz"], "big.npz"),
    (["simulate", "x" * 5000], "too long"),
    (["simulate", "--data", "/".join(["d"] * 5000)], "at most 4096 characters"),
    (["sweep", "range.toml", "--out", "o"], "must start and stop at finite numbers"),
    (["sweep", "empty.toml", "--out", "o"], "is empty"),
    (["sweep", "sweep.toml", "--out", "o", "--dask", "foo://127.0.0.1:1"], "protocols"),
    (["sweep", "sweep.toml", "--out", "o", "--dask", "127.0.0.1:99999"], "port"),
    (["simulate", "/dev/zero"], "is longer than 16 MiB"),
]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "big.npz").write_bytes(exabytes())
    (tmp_path / "empty.toml").write_text("# nothing\n")
    (tmp_path / "sweep.toml").write_text(SMALL_SWEEP)
    axis = f"[axes]\ndimension = {{start = 1, stop = {DIGITS}, count = 2}}\n"
    (tmp_path / "range.toml").write_text(axis)
    return tmp_path


@pytest.mark.parametrize(("arguments", "said"), BAD, ids=range(len(BAD)))
def test_extreme_input_is_one_short_line(arguments, said, folder):
    done = onegrad_here(*arguments, cwd=folder)
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert said in done.stderr
    assert len(done.stderr) < LONGEST_LINE + 20
    assert not (folder / "o").exists()  # an address is tried before anything is planned


def broken(**_):
    raise ZeroDivisionError("first line\nsecond line")


def test_a_defect_is_one_line_with_a_report(tmp_path, monkeypatch):
    monkeypatch.setattr(cli.commands["limit"], "callback", broken)
    monkeypatch.setattr(main.tempfile, "tempdir", str(tmp_path))
    done = onegrad_here("limit", *LIMIT, "--sample-ratio", "1,2")
    assert done.returncode == main.DEFECT_CODE == 70
    (line,) = done.stderr.splitlines()
    path = Path(line.rpartition("attach ")[2])
    assert list(tmp_path.iterdir()) == [path]  # whole, and no part of it beside
    text = path.read_text()
    for part in ("onegrad limit", "--sample-ratio 1,2", "numpy", "python", "ZeroDivisionError"):
        assert part in text
    assert "in broken" in text


def test_a_defect_is_told_where_no_report_can_be_written(monkeypatch):
    monkeypatch.setattr(cli.commands["limit"], "callback", broken)
    monkeypatch.setattr(main.tempfile, "tempdir", "/dev/null/nowhere")
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/nowhere")
    done = onegrad_here("limit", *LIMIT, "--sample-ratio", "1")
    assert done.returncode == 70
    assert "no report file could be written" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (MemoryError(), 1, "memory: is not enough; lower dimension"),
        (FileNotFoundError(2, "No such file or directory"), 2, "working folder"),
        (OSError(36, "File name too long", "x" * 300), 2, "File name too long; check the path"),
        (OSError(24, "Too many open files"), 1, "use fewer workers"),
        (OSError(28, "No space left"), 1, "output: cannot be written (No space left)"),
    ],
)
def test_what_the_machine_refuses_is_one_line(error, code, said, monkeypatch):
    def refused(**_):
        raise error

    monkeypatch.setattr(cli.commands["limit"], "callback", refused)
    done = onegrad_here("limit", *LIMIT, "--sample-ratio", "1")
    assert (done.returncode, len(done.stderr.splitlines())) == (code, 1)
    assert said in done.stderr


COMMAND = f"{sys.executable} -c 'from onegrad.cli.main import main; main()'"
PRINT = f"{COMMAND} simulate {' '.join(SMALL)} --print-toml"


STREAMS = {
    "no-stderr": (f"{COMMAND} simulate {' '.join(SMALL)} --trials 1 2>&- >out.txt", 0),
    "no-stderr-bad": (f"{COMMAND} simulate --strength 7 2>&-", 2),
    "no-stdout": (f"{PRINT} >&-", 2),
    "none": (f"{PRINT} >&- 2>&- <&-", 2),
    "full": (f"{PRINT} >/dev/full", 1),
    "pipe": (f"{COMMAND} --help | true; exit ${{PIPESTATUS[0]}}", None),
    "full-stderr": (f"{COMMAND} simulate --strength 7 2>/dev/full", 2),
    "gone": (f"mkdir gone && cd gone && rmdir ../gone && {COMMAND} simulate --data x.npz", 2),
}


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=pytest.mark.slow) if case in ("no-stdout", "full-stderr") else case
        for case in STREAMS
    ],
)
def test_closed_and_full_streams_and_a_deleted_folder_end_in_a_code(case, tmp_path):
    line, code = STREAMS[case]
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    if code is not None:  # whether a reader has left in time is not ours to say
        assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert len(done.stderr.splitlines()) <= 1


def test_messages_keep_their_ends_when_values_are_long():
    said = shortened(f"dask='{'x' * 999}': must be short;\n  shorten it")
    assert said.startswith("dask='xxx")
    assert said.endswith("': must be short; shorten it")
    assert max(map(len, said.split())) <= LONGEST_WORD
    assert len(shortened("word " * 999)) <= LONGEST_LINE
    assert shortened("file='a b': is no file; name one") == "file='a b': is no file; name one"


def test_a_script_without_guard_is_told_in_a_line(folder):
    pytest.importorskip("distributed")
    script = folder / "script.py"
    script.write_text(
        "from onegrad import Sweep, run_sweep\n"
        "run_sweep(Sweep.load('sweep.toml'), 'o', dask='local', workers=1)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    last = done.stderr.splitlines()[-1]
    assert last.startswith("onegrad.describe.exceptions.InvalidInput: dask='local'")
    assert '__name__ == "__main__"' in last
    assert "bootstrapping phase" not in done.stderr
