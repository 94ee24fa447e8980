"""The tables of training, readout and step size: sizes, files, and what is refused."""

import json
import re

import numpy as np
import pytest

from conftest import onegrad_here, small, small_steps
from onegrad import (
    InvalidInput,
    Problem,
    predict,
    register_function,
    register_rule,
    simulate,
    take_steps,
)
from onegrad.calculus.functions import FUNCTIONS
from onegrad.calculus.rules import RULES
from onegrad.core.instance import draw


@pytest.fixture
def registries(monkeypatch):
    """Forget after the test what it registers."""
    for registry in (RULES, FUNCTIONS):
        monkeypatch.setattr(registry, "entries", dict(registry.entries))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"training__samples": 0}, r"training\.samples=0: must be a whole number of at least 1"),
        ({"training__steps": 0}, r"training\.steps=0: must be a whole number of at least 1"),
        ({"training__momentum": 1.0}, r"training\.momentum=1\.0: must be less than 1; lower it"),
        ({"training__momentum": -0.1}, r"training\.momentum=-0\.1: must be at least 0; raise it"),
        ({"training__rule": "signs"}, "did you mean 'sign'"),
        ({"training__stepz": 3}, "did you mean 'steps'"),
        ({"training__subtract": "lines"}, r"training\.subtract='lines'"),
        ({"dimension": 1}, "2 directions, must be at most dimension=1"),
        ({"training": {"samples": 5, "samples_exponent": 1.0}}, "must not be given together"),
        ({"training": {"samples_exponent": 9.0}}, "gives 10\\^12.42 samples"),
        ({"training": {"samples_exponent": 400.0}}, "gives 10\\^552.1 samples"),
        ({"teacher": {"links": ["z"], "noise": 1e300}}, "noise=1e\\+300: must be at most 1e\\+60"),
        ({"readout": {"ridge": 1.0, "penalty": 1.0}}, "must not be given together"),
        ({"readout": {"batch": "same", "samples": 10}}, 'batch="same" has the samples of a step'),
        ({"scaling": {"learning_rate": 1.0, "change_exponent": 0.1}}, "must not be given together"),
        ({"scaling": {"per_root": 1.0, "strength": 0.1}}, "must not be given together"),
        ({"scaling": {"change_exponent": 7.0}}, r"change_exponent=7\.0: must lie in \[-2, 2\]"),
        ({"scaling": {"change_exponent": -2.5}}, r"change_exponent=-2\.5: must lie in \[-2, 2\]"),
        (
            {"scaling": {"change_exponent": [0.1, 0.2]}},
            r"change_exponent=\[0\.1, 0\.2\]: must be one number or one per step, training\.steps "
            "is 3; change one of them",
        ),
        ({"scaling": {"change_exponent": []}}, "one number or one per step"),
        ({"teacher": {"links": []}}, "at least one link"),
        ({"teacher": {"links": ["z"], "directions": np.eye(5)[:, :1]}}, "shape \\(5, 1\\)"),
        ({"network__activation": "rely"}, "did you mean 'relu'"),
    ],
)
def test_bad_problems_are_one_line(fields, message):
    with pytest.raises(InvalidInput, match=message) as raised:
        small_steps(**fields)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("fields", "remedy"),
    [
        ({"samples": 100}, "did you mean 'training.samples' or 'readout.samples'?"),
        ({"ridge": 1e-3}, "did you mean 'readout.ridge'?"),
        ({"steps": 3}, "did you mean 'training.steps'?"),
        ({"width": 30}, "did you mean 'network.width'?"),
        ({"activation": "tanh"}, "did you mean 'network.activation'?"),
        ({"network": {"steps": 2}}, "remove it"),
    ],
)
def test_a_field_in_the_wrong_table_is_refused_with_its_place(fields, remedy, tmp_path):
    message = f"no such field; {remedy}"
    with pytest.raises(InvalidInput, match=re.escape(message)) as raised:
        Problem(**fields)
    assert "\n" not in str(raised.value)
    lines = []
    for name, value in fields.items():
        table = value if isinstance(value, dict) else {}
        lines += [f"[{name}]"] if table else [f"{name} = {json.dumps(value)}"]
        lines += [f"{inner} = {json.dumps(v)}" for inner, v in table.items()]
    (tmp_path / "old.toml").write_text("\n".join(lines))
    done = onegrad_here("simulate", "old.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr
    with pytest.raises(InvalidInput, match="no such field"):
        small().replace(fields)


def test_steps_that_overflow_are_refused():
    for rate in (1e308, 1e160, 1e101):
        with pytest.raises(InvalidInput, match=r"learning_rate=1e\+\d+: the first layer after"):
            take_steps(small_steps(scaling={"learning_rate": rate}))
    for links in (["1e160*z"], ["1e200*z", "1e200*z"]):
        teacher = {"links": links, "combine": "product"}
        with pytest.raises(InvalidInput, match=r"teacher='1e"):
            take_steps(small_steps(teacher=teacher))
    with pytest.raises(InvalidInput, match="must be a Problem"):
        take_steps("a problem")


@pytest.mark.parametrize("verb", [simulate, predict])
def test_a_rule_that_overflows_is_refused(registries, verb):
    register_rule("huge", lambda gradient, inputs: np.full(gradient.shape, 1e200))
    register_rule("endless", lambda gradient, inputs: gradient / 0.0)
    for rule, message in (("huge", "first layer after step 1 holds 4e"), ("endless", "not finite")):
        problem = small(training__rule=rule, scaling={"learning_rate": 4.0, "spread": 1.0})
        with pytest.raises(InvalidInput, match=message) as raised:
            verb(problem, ["network"])
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize("verb", [simulate, predict])
def test_a_gradient_of_zero_has_no_polar_factor(registries, verb):
    register_function("flat", lambda z: np.ones_like(z), derivative=lambda z: np.zeros_like(z))
    problem = small(training__rule="polar", network__activation="flat")
    with pytest.raises(InvalidInput, match="rule='polar': the gradient is zero") as raised:
        verb(problem, ["network"])
    assert "\n" not in str(raised.value)
    moved = simulate(small(network__activation="flat"), ["network", "untrained"], trials=1)
    trained, untrained = moved.metrics["test_mse"][0, :, 0]
    assert trained == untrained


def test_theory_is_refused_where_the_readout_saw_the_step_s_samples():
    with pytest.raises(InvalidInput, match=r"readout\.batch='same': theory needs samples"):
        predict(small_steps(), ["network"])


@pytest.mark.parametrize(
    ("command", "options", "message"),
    [
        ("predict", ["--readout", "same"], "readout.batch='same': theory needs samples"),
        ("simulate", ["--readout", "same", "--samples", "20"], 'batch="same" has the samples'),
        ("steps", ["--readout", "same", "--samples", "20"], 'batch="same" has the samples'),
        ("simulate", ["--steps", "0"], "training.steps=0: must be a whole number"),
        ("simulate", ["--change-exponent", "0.1,0.2", "--spread", "1"], "one per step"),
        ("simulate", ["--learning-rate", "1e300", "--spread", "1"], "learning_rate=1e+300"),
        ("simulate", ["--rule", "muon"], "training.rule='muon'"),
        ("simulate", ["--rule", "whitened:0"], "DAMPING must be a finite number"),
    ],
)
def test_the_command_line_refuses_in_one_line(command, options, message, tmp_path):
    sizes = ["--dimension", "20", "--step-samples", "30", "--width", "10"]
    done = onegrad_here(command, *sizes, *options, cwd=tmp_path)
    assert done.returncode == 2, done.stdout
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr
    assert done.stdout == ""


def test_the_largest_sizes_that_are_allowed_give_finite_numbers():
    for fields in (
        {"teacher": {"links": ["1e58*z"]}},
        {"teacher": {"links": ["z"], "noise": 1e58}},
        {"scaling": {"learning_rate": 1e60}},
    ):
        found = take_steps(small_steps(training__steps=1, **fields)).to_dict(neurons=True)
        json.dumps(found, allow_nan=False)


def test_a_problem_survives_its_file(tmp_path):
    problem = small_steps(
        teacher={"links": ["z", "He2/2"], "directions": np.eye(24)[:, :2]},
        training={"steps": 2, "samples_exponent": 1.5, "rule": "whitened", "momentum": 0.5},
        scaling={"change_exponent": [0.1, 0.2]},
    )
    problem.save(tmp_path / "p.toml")
    assert Problem.load(tmp_path / "p.toml") == problem
    assert Problem.load(tmp_path / "p.toml").digest == problem.digest
    assert problem.training.rule == "whitened:0.1"


def test_published_step_sizes():
    def rate(**fields):
        return draw(small_steps(**fields)).scales.learning_rate

    assert rate() == 2 * 20
    assert rate(scaling={"per_root": 10.0}) == pytest.approx(10 * np.sqrt(300 * 20))
    problem = small_steps(scaling={"change_exponent": 0.3}, training__steps=1)
    assert draw(problem).scales.learning_rate is None
    record = take_steps(problem).records[1]
    assert record.features.exponent == 0.3
    assert record.change_spectrum.values[0] == pytest.approx(24**0.3)
    assert small_steps(training={"samples_exponent": 1.5}).samples_per_step == round(24**1.5)


def test_sizes_of_steps_and_readout_stand_in_for_each_other():
    assert (Problem().samples, Problem().samples_per_step) == (1000, 1000)
    step = Problem(training={"samples": 30})
    assert (step.samples, step.samples_per_step) == (30, 30)
    readout = Problem(readout={"samples": 40})
    assert (readout.samples, readout.samples_per_step) == (40, 40)
    same = Problem(readout={"batch": "same"})
    assert (same.samples, same.training.samples) == (1000, 1000)
    assert Problem(training={"samples": 50}, readout={"penalty": 2.0}).ridges == (2 / 50,)
