"""The command of giant steps: JSON, problem files, a killed run, and bad input in one line."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from conftest import onegrad_here
from onegrad.cli.steps import _count

TINY = ["--dimension", "30", "--width", "20", "--batch", "200", "--test-samples", "100"]


def test_json_has_every_step_and_every_diagnostic():
    done = onegrad_here("steps", *TINY, "--links", "z+z**2,z-z**2", "--steps", "2", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["problem"]["teacher"]["links"] == ["z+z**2", "z-z**2"]
    assert found["first_direction"] == pytest.approx([0.5, 0.5])
    assert found["leap_index"] == 1
    assert [step["step"] for step in found["steps"]] == [0, 1, 2]
    untrained, _, last = found["steps"]
    assert untrained["gradient"] is None
    assert untrained["features"]["overlaps"] == []
    assert set(last["gradient"]) == {"median_angle", "outside_fraction", "overlap"}
    assert len(last["weights"]["overlap"]) == 2
    assert last["test_mse"] > 0
    assert last["test_stderr"] > 0
    assert len(last["change_spectrum"]["singular_values"]) == 10
    assert {"predicted", "observed", "overlaps", "singular_values"} <= set(last["features"])
    many = onegrad_here("steps", *TINY, "--links", "z,z", "--json", "--neurons")
    assert len(json.loads(many.stdout)["steps"][1]["gradient"]["overlaps"]) == 20


def test_a_printed_problem_gives_the_same_run_and_options_win(tmp_path):
    options = [*TINY, "--links", "4*z+z**2,z", "--per-root", "3", "--subtract", "linear"]
    toml = onegrad_here("steps", *options, "--print-toml").stdout
    (tmp_path / "p.toml").write_text(toml)
    one = onegrad_here("steps", *options, "--json").stdout
    other = onegrad_here("steps", str(tmp_path / "p.toml"), "--json").stdout
    assert one == other
    changed = onegrad_here("steps", str(tmp_path / "p.toml"), "--exponent", "0.2", "--json")
    assert json.loads(changed.stdout)["problem"]["step_size"] == {"exponent": 0.2}


def test_the_table_names_what_it_shows():
    done = onegrad_here("steps", *TINY, "--links", "z+z**2,z-z**2", "--steps", "2")
    assert done.returncode == 0, done.stderr
    assert "angle g" in done.stdout
    assert "leap index" in " ".join(done.stdout.split())


def test_the_table_says_what_was_not_found():
    done = onegrad_here("steps", *TINY, "--links", "He7", "--width", "5")
    assert done.returncode == 0, done.stderr
    assert "leap index none up to degree 6" in " ".join(done.stdout.split())
    assert "–" in done.stdout
    found = json.loads(
        onegrad_here("steps", *TINY, "--links", "He7", "--width", "5", "--json").stdout
    )
    assert (found["leap_index"], found["leap_degree"]) == (None, 6)
    assert found["steps"][1]["features"]["observed"] is None
    assert _count(12) == "≥ 12"
    assert _count(11) == "11"


def test_a_killed_run_continues_with_the_same_output(tmp_path):
    state = tmp_path / "state.npz"
    options = ["--dimension", "400", "--width", "200", "--batch", "4000", "--steps", "12"]
    options += ["--links", "z+z**2,z-z**2", "--json"]
    program = "from onegrad.cli.main import main; main()"
    running = subprocess.Popen(
        [sys.executable, "-c", program, "steps", *options, "--state", str(state)],
        stdout=subprocess.PIPE,
    )
    deadline = time.monotonic() + 60
    while not state.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(running.pid, signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL
    continued = onegrad_here("steps", *options, "--state", str(state))
    assert continued.returncode == 0, continued.stderr
    assert continued.stdout == onegrad_here("steps", *options).stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--dimension", "2", "--links", "z,z,z"], "3 directions, must be at most dimension=2"),
        (["--batch", "0"], "batch=0: must be a whole number of at least 1"),
        (["--links", "1/(z-z)"], "divides by z - z, which is zero near z = -12"),
        (["--links", "z**0.5,z"], "is not a finite number"),
        (["--links", "1or z"], "does not understand"),
        (["--batch-exponent", "400"], "batch_exponent=400"),
        (["--links", "1e160*z", "--json"], "teacher.links='1e160*z'"),
        (["--noise", "1e300"], "teacher.noise=1e+300: must be at most"),
        (["--learning-rate", "1e160", "--json"], "step_size"),
        (["--links", "z,,z"], "must be a name or a formula"),
        (["--learning-rate", "1", "--per-width", "2"], "must not be given together"),
        (["--width", "1000000", "--dimension", "1000000"], "the machine has"),
        (["--state", "nowhere/state.npz"], "its folder cannot be written"),
        (["--seed", "-1"], "seed=-1"),
        (["--batch", "many"], "must be a whole number"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(options, message, tmp_path):
    done = onegrad_here("steps", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []
