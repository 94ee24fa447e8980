"""The command line, as a user calls it: good input, bad input, pipes."""

import json
import os
import pty
import subprocess
import sys

import pytest

from conftest import onegrad, onegrad_here
from onegrad import Problem

SMALL = ["--dimension", "40", "--samples", "50", "--width", "30"]


def test_json_has_the_documented_shape():
    done = onegrad_here(
        "simulate",
        *SMALL,
        "--models",
        "network,hermite,linear,conditional",
        "--trials",
        "3",
        "--seed",
        "5",
        "--workers",
        "2",
        "--json",
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    result = json.loads(done.stdout)
    assert result["trials"] == 3
    assert result["seed"] == 5
    assert result["problem"]["dimension"] == 40
    assert list(result["models"]) == ["network", "hermite", "linear", "conditional"]
    for model in result["models"].values():
        for metric in ("test_mse", "train_mse", "objective"):
            assert model[metric]["mean"] > 0
            assert model[metric]["stderr"] > 0
    assert result["models"]["hermite"]["degree"] == 3
    assert set(result["models"]["linear"]["gap"]) == {"mean", "stderr"}
    assert "gap" not in result["models"]["network"]


def test_several_penalties_are_a_named_axis_in_json():
    result = json.loads(
        onegrad_here("simulate", *SMALL, "--ridge", "1e-3,1e-2", "--trials", "1", "--json").stdout
    )
    assert result["axes"] == {"ridge": [1e-3, 1e-2]}
    assert len(result["models"]["network"]["test_mse"]["mean"]) == 2
    assert result["models"]["network"]["test_mse"]["stderr"] == [None, None]


def test_table_names_models_errors_and_gap():
    done = onegrad_here("simulate", *SMALL, "--trials", "2")
    assert done.returncode == 0
    for word in ("network", "hermite (degree 3)", "test MSE", "gap to network", "±", "seed 0"):
        assert word in done.stdout


def test_printed_toml_is_the_same_problem(tmp_path):
    arguments = [
        *SMALL,
        "--rank",
        "2",
        "--alignment",
        "0.3",
        "--task",
        "classification",
        "--weights",
        "0.4,0.6",
        "--noise",
        "0.1",
    ]
    printed = onegrad_here("simulate", *arguments, "--print-toml").stdout
    path = tmp_path / "p.toml"
    path.write_text(printed)
    assert Problem.load(path).width == 30
    from_file = onegrad_here("simulate", str(path), "--trials", "2", "--json").stdout
    from_options = onegrad_here("simulate", *arguments, "--trials", "2", "--json").stdout
    assert from_file == from_options


def test_options_win_over_the_file(tmp_path):
    path = tmp_path / "p.toml"
    Problem(dimension=30, readout={"samples": 40}, network={"width": 20}).save(path)
    done = onegrad_here(
        "simulate",
        str(path),
        "--width-ratio",
        "0.5",
        "--learning-rate",
        "2",
        "--spread",
        "3",
        "--print-toml",
    )
    assert done.returncode == 0, done.stderr
    assert "width_ratio = 0.5" in done.stdout
    assert "strength" not in done.stdout.split("[data]")[0].replace("strengths", "")


BAD = [
    ["--strength", "2"],
    ["--weights", "0.5,0.6"],
    ["--width", "0"],
    ["--width", "abc"],
    ["--activation", "rleu"],
    ["--rank", "2000"],
    ["--ridge", "nan"],
    ["--noise", "nan"],
    ["--models", "netwrk"],
    ["--trials", "0"],
    ["--bogus", "1"],
    ["--learning-rate", "1", "--spread", "1", "--strength", "0.5"],
    ["--dimension", "300000", "--samples", "300000"],
    ["missing.toml"],
    ["misspelt.toml"],
    ["broken.toml"],
]


@pytest.mark.parametrize("arguments", BAD, ids=" ".join)
def test_bad_input_is_one_line_and_exit_code_two(arguments, tmp_path):
    (tmp_path / "misspelt.toml").write_text("[network]\nactivaton = 'relu'\n")
    (tmp_path / "broken.toml").write_text("dimension = [")
    before = sorted(tmp_path.iterdir())
    done = onegrad_here("simulate", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("onegrad: ")
    assert ";" in lines[0]
    assert sorted(tmp_path.iterdir()) == before


def test_help_and_version_import_nothing_heavy():
    code = (
        "import sys; from onegrad.cli.main import cli; "
        "cli.main(['--help'], standalone_mode=False); "
        "print([m for m in ('numpy', 'scipy', 'pandas', 'pydantic', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert onegrad("--version").stdout.startswith("onegrad, version ")


def test_help_comes_from_the_fields():
    text = " ".join(onegrad_here("simulate", "--help").stdout.split())
    assert "--dimension INTEGER Input dimension n. [default: 1000]" in text
    assert "--strengths NUMBERS|uniform" in text
    assert "--test exact|sampled" in text


def test_a_process_of_its_own_gives_what_this_one_gives():
    for arguments in (["--strength", "2"], [*SMALL, "--trials", "1", "--json"]):
        theirs, ours = onegrad("simulate", *arguments), onegrad_here("simulate", *arguments)
        assert (theirs.returncode, theirs.stdout) == (ours.returncode, ours.stdout)
        assert theirs.stderr == ours.stderr


def test_progress_shows_on_a_terminal_and_never_in_a_pipe():
    program = (
        "import sys, time; from onegrad.cli import output as progress\n"
        "progress.SHOW_AFTER_SECONDS = 0.1\n"
        "with progress.WorkProgress('trials') as bar:\n"
        "    bar(1, 2)\n"
        "    time.sleep(0.2)\n"
        "    while sys.stderr.isatty() and not bar._bar.live.is_started:\n"
        "        time.sleep(0.01)\n"
    )
    parent, child = pty.openpty()
    subprocess.run([sys.executable, "-c", program], stderr=child, check=True)
    os.close(child)
    shown = os.read(parent, 100_000).decode()
    os.close(parent)
    assert "trials" in shown
    assert "1/2" in shown
    piped = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert piped.stderr == piped.stdout == b""
