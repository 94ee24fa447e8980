"""The command of giant steps: JSON, problem files, and bad input in one line."""

import json

import pytest

from conftest import onegrad_here

SIZES = ["--dimension", "30", "--width", "20", "--step-samples", "200"]
TINY = [*SIZES, "--readout", "same", "--test", "sampled", "--test-samples", "100"]


def test_json_has_every_step_and_every_diagnostic():
    options = ["--links", "z+z**2,z-z**2", "--steps", "2", "--trials", "2", "--json"]
    done = onegrad_here("steps", *TINY, *options)
    assert done.returncode == 0, done.stderr
    whole = json.loads(done.stdout)
    assert whole["trials"] == 2
    assert [run["trial"] for run in whole["runs"]] == [0, 1]
    found = whole["runs"][0]
    assert whole["problem"] == found["problem"]
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
    assert len(last["change_spectrum"]["singular_values"]) == 10
    assert {"predicted", "observed", "overlaps", "singular_values"} <= set(last["features"])
    many = onegrad_here("steps", *TINY, "--links", "z,z", "--json", "--neurons")
    runs = json.loads(many.stdout)["runs"]
    assert len(runs) == 4
    assert len(runs[0]["steps"][1]["gradient"]["overlaps"]) == 20


def test_a_printed_problem_gives_the_same_run_and_options_win(tmp_path):
    options = [*TINY, "--links", "4*z+z**2,z", "--per-root", "3", "--subtract", "linear"]
    toml = onegrad_here("steps", *options, "--print-toml").stdout
    (tmp_path / "p.toml").write_text(toml)
    one = onegrad_here("steps", *options, "--json").stdout
    other = onegrad_here("steps", str(tmp_path / "p.toml"), "--json").stdout
    assert one == other
    changed = onegrad_here("steps", str(tmp_path / "p.toml"), "--change-exponent", "0.2", "--json")
    scaling = json.loads(changed.stdout)["problem"]["scaling"]
    assert scaling["change_exponent"] == 0.2
    assert "per_root" not in scaling


def test_the_table_names_what_it_shows():
    done = onegrad_here("steps", *TINY, "--links", "z+z**2,z-z**2", "--steps", "2")
    assert done.returncode == 0, done.stderr
    assert "angle g" in done.stdout
    assert "overlaps w 1…2" in done.stdout
    said = " ".join(done.stdout.split())
    assert "leap index 1" in said
    assert "4 trials, seed 0" in said
    one = onegrad_here("steps", *TINY, "--links", "z", "--trials", "1")
    assert "overlap w" in one.stdout
    assert "1 trial, seed 0" in " ".join(one.stdout.split())


def test_any_problem_is_observed(tmp_path):
    for options in (
        [],
        ["--task", "classification"],
        ["--steps", "2", "--rule", "polar", "--momentum", "0.5", "--batches", "reused"],
        ["--steps", "2", "--change-exponent", "0.1,0.2", "--spread", "1"],
    ):
        done = onegrad_here("steps", *SIZES, *options, "--trials", "1", "--json")
        assert done.returncode == 0, done.stderr
        steps = 2 if "--steps" in options else 1
        assert len(json.loads(done.stdout)["runs"][0]["steps"]) == steps + 1
        shown = onegrad_here("steps", *SIZES, *options, "--trials", "1")
        assert shown.returncode == 0, shown.stderr


def test_simulate_and_predict_show_every_step():
    options = [*SIZES, "--links", "z+z**2,z-z**2", "--steps", "2", "--models", "network"]
    for command, count in (("simulate", "--trials"), ("predict", "--draws")):
        done = onegrad_here(command, *options, count, "2", "--json")
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert found["axes"] == {"step": [0, 1, 2]}
        assert len(found["models"]["network"]["test_mse"]["mean"]) == 3
        table = onegrad_here(command, *options, count, "2")
        assert table.returncode == 0, table.stderr
        assert "step" in table.stdout


def test_the_table_says_what_was_not_found():
    options = [*TINY, "--links", "He7", "--width", "5", "--trials", "1"]
    done = onegrad_here("steps", *options)
    assert done.returncode == 0, done.stderr
    assert "leap index none up to degree 6" in " ".join(done.stdout.split())
    assert "nan" not in done.stdout.lower()
    (found,) = json.loads(onegrad_here("steps", *options, "--json").stdout)["runs"]
    assert (found["leap_index"], found["leap_degree"]) == (None, 6)
    assert found["steps"][1]["features"]["observed"] is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--dimension", "2", "--links", "z,z,z"], "3 directions, must be at most dimension=2"),
        (["--step-samples", "0"], "training.samples=0: must be a whole number of at least 1"),
        (["--links", "1/(z-z)"], "divides by z - z, which is zero near z = -12"),
        (["--links", "z**0.5,z"], "is not a finite number"),
        (["--links", "1or z"], "does not understand"),
        (["--step-samples-exponent", "400"], "training.samples_exponent=400"),
        (["--links", "1e160*z", "--json"], "teacher='1e160*z'"),
        (["--links", "z", "--noise", "1e300"], "teacher.noise=1e+300: must be at most"),
        (["--links", "z", "--learning-rate", "1e160", "--json"], "learning_rate=1e+160"),
        (["--links", "z,,z"], "must be a name or a formula"),
        (["--learning-rate", "1", "--per-width", "2"], "must not be given together"),
        (["--batch", "20"], "No such option"),
        (["--width", "1000000", "--dimension", "1000000"], "the machine has"),
        (["--state", "state.npz"], "No such option"),
        (["--seed", "-1"], "seed=-1"),
        (["--step-samples", "many"], "must be a whole number"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(options, message, tmp_path):
    done = onegrad_here("steps", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []
