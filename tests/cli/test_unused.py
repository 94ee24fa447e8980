"""Options that would do nothing are said."""

import pytest
from odd_files import SMALL_SWEEP, small_rows

from conftest import onegrad_here

SMALL = ["--dimension", "12", "--samples", "14"]
ROWS = ["--data", "rows.npz", "--samples", "8"]
REFUSED = [
    (["simulate", *SMALL, "--labels", "1,2"], "add --task classification"),
    (["simulate", *SMALL, "--test-samples", "30"], "add --test sampled"),
    (["simulate", *ROWS, "--label-column", "y"], "belongs to a CSV or Parquet table"),
    (["simulate", *SMALL, "--momentum", "0.5"], "raise --steps"),
    (["simulate", *SMALL, "--batches", "reused"], "raise --steps"),
    (["simulate", *SMALL, "--components", "1", "--alignment", "0.5"], "there is one"),
    (["simulate", *SMALL, "--components", "1", "--equal-totals"], "there is one"),
    (["simulate", *SMALL, "--rank", "0", "--strengths", "2"], "raise --rank"),
    (["simulate", *SMALL, "--rank", "0", "--learning-rate", "1", "--spread", "2"], "raise --rank"),
    (["simulate", *SMALL, "--rank", "0", "--alignment", "0.5"], "raise --rank"),
    (["tune", *SMALL, "--over", "ridge", "--ridge", "1"], "the ridge is searched"),
    (["tune", *SMALL, "--over", "ridge", "--penalty", "1"], "the ridge is searched"),
    (["tune", *SMALL, "--over", "ridge", "--budget", "90"], "add width to --over"),
    (["steps", *SMALL, "--neurons"], "--json"),
    (["simulate", *SMALL, "--components", "3", "--task", "classification"], "give --labels"),
    (["simulate", *SMALL, "--alignment", "1", "--rank", "12"], "lower both ranks"),
]
CAPPED = ["--degree-cap", "2"]
NOTED = [
    (["simulate", *SMALL, *CAPPED, "--models", "network"], "--degree-cap does nothing here"),
    (["predict", *SMALL, *CAPPED, "--models", "hermite:2"], "--degree-cap does nothing here"),
    (["equivalence", *SMALL, *CAPPED, "--draws", "1"], "--degree-cap does nothing here"),
    (["tune", *SMALL, *CAPPED, "--over", "ridge", "--draws", "1"], "--degree-cap does nothing"),
    (["steps", *SMALL, *CAPPED, "--trials", "1"], "--degree-cap does nothing here"),
    (["predict", *SMALL, "--draws", "1", "--test", "sampled"], "--test does nothing here"),
    (["equivalence", *SMALL, "--draws", "1", "--test", "sampled"], "--test does nothing here"),
    (["tune", *SMALL, "--over", "ridge", "--draws", "1", "--test", "exact"], "--test does nothing"),
    (["predict", *SMALL, "--method", "closed", "--draws", "3"], "--draws does nothing here"),
    (["simulate", *ROWS, "--trials", "1", "--fit-rank", "1"], "--fit-rank does nothing here"),
]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "rows.npz").write_bytes(small_rows())
    (tmp_path / "sweep.toml").write_text(SMALL_SWEEP)
    return tmp_path


@pytest.mark.parametrize(("arguments", "said"), REFUSED, ids=range(len(REFUSED)))
def test_an_option_that_contradicts_the_problem_is_refused(arguments, said, folder):
    done = onegrad_here(*arguments, cwd=folder)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(("arguments", "said"), NOTED, ids=range(len(NOTED)))
def test_an_option_that_a_command_does_not_read_is_noted(arguments, said, folder):
    done = onegrad_here(*arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert said in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["simulate", *SMALL, "--labels", "2,-2", "--task", "classification"],
        ["simulate", *SMALL, "--test-samples", "30", "--test", "sampled"],
        ["simulate", *SMALL, "--momentum", "0.5", "--steps", "2"],
        ["simulate", *ROWS, "--labels", "2,-2"],
        ["predict", *SMALL, "--draws", "1"],
        ["simulate", *SMALL, "--degree-cap", "2", "--models", "network, hermite"],
        ["predict", *ROWS, "--draws", "1", "--test-samples", "20", "--fit-rank", "1"],
    ],
    ids=range(7),
)
def test_options_that_are_read_are_not_spoken_of(arguments, folder):
    """Negative control."""
    done = onegrad_here(*arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "does nothing" not in done.stderr
