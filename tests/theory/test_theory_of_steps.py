"""Theory against simulation after 0 to 3 steps: rules, what is subtracted, batches, sources.

Both have the same first layers, so gaps are paired over trials.
"""

import numpy as np
import pytest

from onegrad import Problem, predict, simulate
from onegrad.results.errors import paired_gap

TRIALS = 5
STAIRCASE = {"links": ["z+z**2", "z-z**2"], "noise": 0.1}


def on_isotropic_inputs(exponent=0.45, **changes):
    """Return three steps towards two directions of isotropic inputs."""
    base = Problem(
        dimension=100,
        network={"width": 80, "second_layer": "sign"},
        training={"steps": 3, "samples": 400},
        readout={"samples": 240, "ridge": 1e-2},
        scaling={"change_exponent": exponent},
        teacher=STAIRCASE,
    )
    return base.replace(**changes)


def on_a_spiked_mixture(exponent=0.45, **changes):
    """Return the same on a mixture, half of which has a spike along the first direction.

    Smaller steps: the spike makes neurons follow it, and series need those that do not.
    """
    base = on_isotropic_inputs(
        data={"components": [{"weight": 0.5}, {"weight": 0.5, "rank": 0, "level": 0.8}]},
        scaling={"change_exponent": exponent - 0.15, "spread": 2.0},
        teacher={**STAIRCASE, "directions": "spikes"},
    )
    return base.replace(**changes)


both_sources = pytest.mark.parametrize("source", [on_isotropic_inputs, on_a_spiked_mixture])


def measured(problem, metric="test_mse"):
    """Return predicted and simulated errors of the network, trial × step."""
    return (
        predict(problem, ["network"], draws=TRIALS).metrics[metric][:, 0, :, 0],
        simulate(problem, ["network"], trials=TRIALS).metrics[metric][:, 0, :, 0],
    )


def allowed(gap):
    """Return 5 % and four standard errors of the paired gap."""
    return 0.05 + 4 * gap.stderr


def assert_theory_agrees(problem):
    """Compare after every step, and see that theory of the untrained network misses step 1."""
    predicted, simulated = measured(problem)
    gap = paired_gap(predicted, simulated)
    assert np.all(np.abs(gap.mean) < allowed(gap)), gap.mean
    wrong = paired_gap(predicted[:, 0], simulated[:, 1])
    assert abs(wrong.mean) > allowed(wrong)
    return predicted


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        *((on_isotropic_inputs, rule) for rule in ("gradient", "sign", "polar", "whitened")),
        (on_a_spiked_mixture, "gradient"),
        *(
            pytest.param(on_a_spiked_mixture, rule, marks=pytest.mark.slow)
            for rule in ("sign", "polar", "whitened")
        ),
    ],
)
def test_every_rule(source, rule):
    """A polar change is mostly noise, whatever its norm: it takes a larger one to be seen."""
    assert_theory_agrees(source(0.6 if rule == "polar" else 0.45, training__rule=rule))


@pytest.mark.parametrize(
    ("source", "exponent", "samples", "subtract"),
    [
        (on_isotropic_inputs, 0.6, 2500, "linear"),
        (on_a_spiked_mixture, 0.3, 1000, "moments"),
        pytest.param(on_isotropic_inputs, 0.6, 2500, "moments", marks=pytest.mark.slow),
        pytest.param(on_a_spiked_mixture, 0.3, 1000, "linear", marks=pytest.mark.slow),
    ],
)
def test_what_is_subtracted(source, exponent, samples, subtract):
    """Without its linear part a target takes more samples, or a spike, to be learned at all."""
    problem = source(exponent, training__samples=samples, training__subtract=subtract)
    predicted = assert_theory_agrees(problem)
    plain = predict(
        problem.replace(training__subtract="none", training__steps=1), ["network"], draws=1
    )
    assert predicted[0, 1] != pytest.approx(plain.metrics["test_mse"][0, 0, 0], rel=0.01)


@both_sources
def test_reused_batches_with_a_fresh_readout(source):
    problem = source(training__batches="reused", training__momentum=0.5)
    predicted = assert_theory_agrees(problem)
    fresh = predict(source(training__steps=2), ["network"], draws=1).metrics["test_mse"]
    assert predicted[0, 1] == fresh[0, 0, 1, 0]
    assert predicted[0, 2] != pytest.approx(fresh[0, 0, 2, 0], rel=1e-3)


def test_training_errors_too():
    gap = paired_gap(*measured(on_isotropic_inputs(), "train_mse"))
    assert np.all(np.abs(gap.mean) < allowed(gap))
