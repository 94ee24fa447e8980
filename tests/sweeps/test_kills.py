"""The benchmark of kills and damaged files in small: nothing is lost, nothing damaged is used."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
KINDS = ("truncated", "flipped", "swapped", "emptied", "garbage", "wrong format")
FILES = ("rows", "csv", "json", "png", "pdf")

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="drivers are forked")


@pytest.fixture(scope="module")
def survival():
    """Let the benchmark be imported."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        import survival

        yield survival
        del sys.modules["survival"]


@pytest.mark.parametrize("kills", [1, pytest.param(5, marks=pytest.mark.slow)])
def test_rows_are_whole_after_driver_and_workers_were_killed_together(kills):
    # In a process of its own: it forks its drivers.
    trials = 60 * kills
    arguments = [BENCHMARKS / "survival.py", "--kills", str(kills), "--trials", str(trials)]
    arguments += ["--files", "0"]
    quiet = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    done = subprocess.run(
        [sys.executable, *arguments], env=quiet, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"Killed(kills={kills}, " in done.stdout
    assert f"rows={trials}, twice=0, other=0, failed=0, damaged=0, reported=''" in done.stdout


def test_a_row_that_is_stored_twice_or_altered_is_noticed(survival):
    """Negative control: the comparison sees what it looks for."""
    assert not survival.Killed(
        1, 0, 60, twice=1, other=0, failed=0, damaged=0, reported=""
    ).is_whole
    assert not survival.Killed(
        1, 0, 60, twice=0, other=1, failed=0, damaged=0, reported=""
    ).is_whole


def test_no_damaged_file_is_used(survival, tmp_path):
    assert tuple(survival.DAMAGES) == KINDS
    table = survival.damaged_files(tmp_path, 1)
    assert [(name, kind) for name, kind, _ in table] == [(f, k) for f in FILES for k in KINDS]
    for name, kind, counts in table:
        assert counts == {"reported": 1, "unused": 1, "aside": 1, "restored": 1}, (name, kind)


def test_a_file_that_is_not_damaged_is_used(survival, tmp_path, monkeypatch):
    """Negative control: no damage is reported for a whole file, and it is used."""
    monkeypatch.setitem(survival.DAMAGES, "none", lambda path, chance: None)
    for name, owner in survival.OWNERS.items():
        folder = tmp_path / name
        folder.mkdir()
        whole = owner.make(folder)
        found = survival.judge(owner, folder, "none", whole, random.Random(0))
        assert not found["reported"], name
        assert found["restored"], name
        assert found["unused"] == (name == "rows"), name  # rows: all that is read is whole
