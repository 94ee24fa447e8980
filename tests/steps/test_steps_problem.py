"""The problem of giant steps: its sizes and step sizes, its file, and what it refuses."""

import json

import numpy as np
import pytest

from conftest import small_steps
from onegrad import InvalidInput, Problem, StepsProblem, take_steps


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"batch": 0}, "batch=0: must be a whole number of at least 1"),
        ({"dimension": 1}, "2 directions, must be at most dimension=1"),
        ({"batch": 5, "batch_exponent": 1.0}, "must not be given together"),
        ({"batch": None, "batch_exponent": 9.0}, "gives 10\\^12.42 samples"),
        ({"batch": None, "batch_exponent": 400.0}, "gives 10\\^552.1 samples"),
        (
            {"teacher": {"links": ["z"], "noise": 1e300}},
            "noise=1e\\+300: must be at most 1e\\+60",
        ),
        ({"ridge": 1.0, "penalty": 1.0}, "must not be given together"),
        ({"step_size": {"learning_rate": 1.0, "exponent": 0.1}}, "must not be given together"),
        ({"step_size": {"exponent": 7.0}}, r"exponent=7.0: must lie in \[-2, 2\]; lower it"),
        ({"step_size": {"exponent": -2.5}}, "raise it"),
        ({"samples": 10}, 'belongs to readout="fresh"'),
        ({"teacher": {"links": []}}, "at least one link"),
        ({"teacher": {"links": ["z"], "directions": np.eye(5)[:, :1]}}, "shape \\(5, 1\\)"),
        ({"activation": "rely"}, "did you mean 'relu'"),
        ({"stepz": 3}, "did you mean 'steps'"),
    ],
)
def test_bad_problems_are_one_line(fields, message):
    with pytest.raises(InvalidInput, match=message) as raised:
        small_steps(**fields)
    assert "\n" not in str(raised.value)


def test_steps_that_overflow_are_refused():
    for rate in (1e308, 1e160, 1e101):
        with pytest.raises(InvalidInput, match="step_size"):
            take_steps(small_steps(step_size={"learning_rate": rate}))
    for links in (["1e160*z"], ["1e200*z", "1e200*z"]):
        teacher = {"links": links, "combine": "product"}
        with pytest.raises(InvalidInput, match=r"teacher\.links='1e"):
            take_steps(small_steps(teacher=teacher))
    with pytest.raises(InvalidInput, match="must be a StepsProblem"):
        take_steps(Problem())
    with pytest.raises(InvalidInput, match="state=3: must be the path"):
        take_steps(small_steps(), state=3)


def test_the_largest_sizes_that_are_allowed_give_finite_numbers():
    for fields in (
        {"teacher": {"links": ["1e58*z"]}},
        {"teacher": {"links": ["z"], "noise": 1e58}},
        {"step_size": {"learning_rate": 1e60}},
    ):
        json.dumps(
            take_steps(small_steps(steps=1, **fields)).to_dict(neurons=True), allow_nan=False
        )


def test_a_problem_survives_its_file(tmp_path):
    problem = small_steps(teacher={"links": ["z", "He2/2"], "directions": np.eye(24)[:, :2]})
    problem.save(tmp_path / "p.toml")
    assert StepsProblem.load(tmp_path / "p.toml") == problem
    assert StepsProblem.load(tmp_path / "p.toml").digest == problem.digest


def test_published_step_sizes():
    assert small_steps().learning_rate(1.0) == 2 * 20
    assert small_steps(step_size={"per_root": 10.0}).learning_rate(1.0) == 10 * np.sqrt(300 * 20)
    record = take_steps(small_steps(step_size={"exponent": 0.3}, steps=1)).records[1]
    assert record.features.exponent == 0.3
    assert record.change_spectrum.values[0] == pytest.approx(24**0.3)
    assert small_steps(batch=None, batch_exponent=1.5).batch_size == round(24**1.5)
