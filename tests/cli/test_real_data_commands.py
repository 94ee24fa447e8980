"""Commands on real data: the best constant beside every error, checks of the fit, odd input."""

import json

import pytest
from matplotlib.figure import Figure

from conftest import onegrad_here
from onegrad import Results

FEW = ["--samples", "30", "--test-samples", "rest", "--width", "20", "--ridge", "1e-2"]
DIGITS = ["--data", "digits", "--classes", "3,8", *FEW]
NETWORK = ["--models", "network"]


def test_the_best_constant_stands_in_every_table():
    trained = onegrad_here("simulate", *DIGITS, *NETWORK, "--trials", "2")
    predicted = onegrad_here(
        "predict", *DIGITS, *NETWORK, "--draws", "1", "--check-trials", "2", "--fit-rank", "3"
    )
    for done in (trained, predicted):
        assert done.returncode == 0
        assert "best constant" in done.stdout
    assert "on rows that the fit has not seen (2 trials)" in predicted.stderr
    synthetic = ["--dimension", "30", "--samples", "40", "--width", "20"]
    assert "best constant" in onegrad_here("simulate", *synthetic, "--trials", "1").stdout


DIGITS_SWEEP = """
models = "network"
trials = 2
[problem]
test_samples = "rest"
[problem.data]
file = "digits"
classes = [3, 8]
weights = [0.25, 0.75]
[problem.readout]
samples = 30
[axes]
"readout.ridge" = [1e-2, 1e-1]
"""


def test_the_best_constant_stands_in_tables_of_sweeps_and_steps(tmp_path):
    (tmp_path / "sweep.toml").write_text(DIGITS_SWEEP)
    assert onegrad_here("sweep", "sweep.toml", "--out", "runs", cwd=tmp_path).returncode == 0
    shares = {"test_mse": "0.75", "misclassification": "0.25"}  # 1 − (1/2)², the rarer class
    for metric, constant in shares.items():
        shown = onegrad_here("results", "runs", "--metric", metric, cwd=tmp_path).stdout
        assert "best constant" in shown
        assert shown.count(f" {constant} ") == 2
    assert (
        "best constant"
        not in onegrad_here("results", "runs", "--metric", "train_mse", cwd=tmp_path).stdout
    )
    drawn = Results.load(tmp_path / "runs").plot(ax=Figure().add_subplot())
    assert any("best constant" in text.get_text() for text in drawn.get_legend().get_texts())
    steps = onegrad_here("steps", *DIGITS, "--trials", "1").stdout
    assert "best constant" in steps


def test_tuning_says_how_sure_it_is():
    how = ["--over", "learning_rate", "--draws", "2", "--check-trials", "4", "--fit-rank", "3"]
    fit = ["--components-per-class", "1"]
    done = onegrad_here("tune", *DIGITS, *how, *fit, "--metric", "misclassification")
    assert done.returncode == 0
    assert "best constant" in done.stdout
    assert "runner-up learning_rate" in done.stdout or "flat: the worst" in done.stdout
    assert "on rows that the fit has not seen (4 trials)" in " ".join(
        f"{done.stdout} {done.stderr}".split()
    )
    found = json.loads(onegrad_here("tune", *DIGITS, *how, *fit, "--json").stdout)
    assert found["best_constant"] == 1.0
    assert found["check"]["trials"] == 4
    assert set(found["contrast"]) >= {"flat", "runner_up", "difference", "stderr"}


def test_classes_numbers_and_shares_come_from_options():
    options = ["--data", "diabetes", "--standardise", "--parts", "4", *FEW, "--json"]
    done = onegrad_here("simulate", *options, *NETWORK, "--trials", "1")
    data = json.loads(done.stdout)["problem"]["data"]
    assert (data["response"], data["parts"], len(data["targets"])) == ("number", 4, 4)
    options = ["--data", "breast_cancer", "--weights", "rows", *FEW, "--json"]
    done = onegrad_here("simulate", *options, *NETWORK, "--trials", "1")
    assert json.loads(done.stdout)["problem"]["data"]["weights"] == [212 / 569, 357 / 569]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tune", "--check-trials", "3"], "check_trials=3: belongs to real data"),
        (["predict", "--check-trials", "3"], "check_trials=3: belongs to real data"),
        (["simulate", "--standardise"], "belongs to real data"),
        (["simulate", "--test-samples", "rest"], "needs real data"),
        (["simulate", "--test-samples", "many"], "must be a whole number"),
        (["simulate", "--data", "digits", "--classes", "0,rest", "--parts", "3"], "belongs to"),
        (["simulate", *DIGITS, "--response", "colour"], "'class' or 'number'"),
        (["simulate", "--data", "digits"], "one against all others, as in 0,rest"),
        (["simulate", "--data", "diabetes", "--classes", "0,1"], "follows from y"),
        (["simulate", "--data", "breast_cancer", "--weights", "cols"], "must be numbers"),
    ],
)
def test_what_does_not_fit_is_one_line(arguments, message):
    done = onegrad_here(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
