"""The theory's commands, as a user calls them."""

import json

import numpy as np
import pytest

from conftest import onegrad_here

SMALL = ["--dimension", "40", "--samples", "50", "--draws", "2"]
SIZES = ["--dimensions", "20,40"]
SIGNS = [*SMALL, "--task", "classification", "--metric", "misclassification", "--method", "types"]
LIMIT = ["--step-ratio", "20", "--width-ratio", "1", "--sample-ratio", "0.5,2"]


@pytest.mark.parametrize(
    ("arguments", "keys"),
    [
        (["predict", *SMALL, "--json"], {"models", "draws", "problem", "seed"}),
        (["predict", *SMALL, "--width", "1", "--json"], {"models"}),
        (["predict", *SMALL, "--method", "closed", "--json"], {"models"}),
        (["equivalence", *SMALL, "--degrees", "1,3", "--json"], {"gap", "theorem_degree"}),
        (["equivalence", *SMALL, *SIZES, "--degrees", "1", "--json"], {"decay", "dimensions"}),
        (["equivalence", *SIGNS, "--degrees", "1", "--json"], {"gap", "metric", "reason"}),
        (["tune", *SMALL, "--over", "ridge", "--json"], {"tuned", "ridge_curve"}),
        (["tune", *SIGNS, "--over", "ridge", "--json"], {"tuned", "misclassification"}),
        (["limit", *LIMIT, "--rate", "3", "--ridge", "0.1", "--json"], {"published", "corrected"}),
    ],
)
def test_theory_commands_print_one_json_object(arguments, keys):
    result = onegrad_here(*arguments)
    assert result.returncode == 0, result.stderr
    assert keys <= json.loads(result.stdout).keys()


def test_a_list_of_samples_gives_a_curve_and_says_what_stays_fixed():
    result = onegrad_here(
        "predict", "--dimension", "40", "--samples", "20,50", "--draws", "1", "--json"
    )
    found = json.loads(result.stdout)
    assert found["axes"] == {"samples": [20, 50], "ridge": [1e-4]}
    assert np.shape(found["models"]["network"]["test_mse"]["mean"]) == (2, 1)
    assert "width=1000 and training.samples=1000 stay fixed" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["predict", *SMALL, "--ridge", "1e-300"], 1, "raise the ridge"),
        (["predict", *SMALL, "--learning-rate", "1e200", "--spread", "1"], 2, "must be finite"),
        (["predict", *SMALL, "--noise", "1e200"], 2, "must be finite"),
        (["predict", "--samples", "inf,100"], 2, "whole numbers"),
        (["predict", *SMALL, "--method", "single"], 2, "must be types or closed or auto; choose"),
        (["predict", *SMALL, "--method", "full_types"], 2, "must be types or closed or auto"),
        (["predict", *SMALL, "--models", "conditional"], 2, "no theory of its own"),
        (["predict", *SMALL, "--width", "60000"], 2, "memory="),
        (["equivalence", *SMALL, "--degrees", "99"], 2, "from 0 to 20"),
        (["equivalence", *SMALL, "--tolerance", "-1"], 2, "between 0 and 1"),
        (["equivalence", *SMALL, "--dimensions", "40,x"], 2, "separated by commas"),
        (["equivalence", *SMALL, "--dimensions", "40"], 2, "at least two"),
        (["equivalence", *SMALL, "--metric", "misclassification"], 2, "+1 and -1"),
        (["equivalence", *SMALL, "--metric", "test_loss"], 2, "name another loss"),
        (["equivalence", *SMALL, "--method", "single"], 2, "must be types or closed or auto"),
        (["tune", *SMALL, "--metric", "loss"], 2, "test_mse, misclassification, test_loss"),
        (["tune", *SMALL, "--method", "single"], 2, "must be types or closed or auto"),
        (["tune", *SMALL, "--over", "depth"], 2, "must name some of"),
        (["tune", *SMALL, "--over", "ridge", "--budget", "10"], 2, "add width to --over"),
        (["tune", *SMALL, "--workers", "0"], 2, "workers=0"),
        (["limit", *LIMIT, "--rate", "3", "--ridge", "0.1", "--activation", "relu"], 2, "odd"),
        (["limit", *LIMIT, "--rate", "3", "--ridge", "1e-300"], 1, "raise the ridge"),
        (["limit", *LIMIT, "--rate", "1e200", "--ridge", "1"], 2, "lower it"),
    ],
)
def test_theory_commands_refuse_in_one_line(arguments, code, said):
    result = onegrad_here(*arguments)
    assert result.returncode == code
    lines = [line for line in result.stderr.splitlines() if ": note: " not in line]
    assert len(lines) == 1
    assert said in lines[0]
    assert result.stdout == ""


def test_the_table_shows_a_gap_per_dimension_its_decay_and_why_a_degree_is_worse():
    strong = ["--strength", "1", "--weighting", "0", "--degrees", "2,4"]
    sizes = ["--dimension", "60", "--samples", "60", "--dimensions", "60,120"]
    result = onegrad_here("equivalence", *strong, *sizes)
    assert result.returncode == 0, result.stderr
    for text in ("gap, n = 60", "gap, n = 120", "decay", "degree 4 has a larger gap than degree 2"):
        assert text in result.stdout
    assert result.stderr.count("covers strengths below 1") == 1


def test_the_table_of_tune_names_the_metric():
    result = onegrad_here("tune", *SIGNS, "--over", "ridge")
    assert result.returncode == 0, result.stderr
    assert "misclassified" in result.stdout
