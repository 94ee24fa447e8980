"""Readouts by convex losses in whole trials: what is measured, and what is refused."""

import numpy as np
import pytest

from conftest import small
from onegrad import InvalidInput, predict, register_loss, simulate
from onegrad.calculus import losses
from own_losses import Exponential, PlainLogistic

CLASSES = {"teacher": {"kind": "labels"}}
LOSSES = ["logistic", "squared_hinge", "hinge", "huber:0.5"]
MODELS = ["network", "hermite:2", "linear", "untrained", "conditional"]


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_trains_every_model(loss):
    problem = small(**CLASSES, readout__loss=loss, readout__ridge=(1e-2, 1e-1))
    errors = simulate(problem, MODELS, trials=2)
    names = {"test_loss", "train_loss", "misclassification", "train_misclassification"}
    assert names <= set(errors.metrics)
    assert all(values.shape == (2, 5, 2) for values in errors.metrics.values())
    assert np.all(errors.metrics["objective"] >= errors.metrics["train_loss"])
    # A penalty that is smaller lets training go further.
    assert np.all(errors.metrics["train_loss"][..., 0] <= errors.metrics["train_loss"][..., 1])


def test_huber_with_a_wide_middle_is_the_square():
    square = simulate(small(readout__ridge=0.1), "network", trials=2)
    huber = simulate(small(readout__ridge=0.1, readout__loss="huber:1000"), "network", trials=2)
    for name in ("test_mse", "train_mse", "objective", "squared_weight_norm"):
        assert huber.metrics[name] == pytest.approx(square.metrics[name], rel=1e-6)
    assert huber.metrics["train_loss"] == pytest.approx(square.metrics["train_mse"] / 2, rel=1e-6)


def test_the_linear_model_is_the_network_under_logistic_loss_at_weak_steps():
    problem = small(
        **CLASSES,
        dimension=150,
        readout={"samples": 200, "ridge": 1e-2, "loss": "logistic"},
        network={"width": 100, "activation": "tanh"},
        scaling={"strength": 0.4, "weighting": 0.5},
    )
    gap = simulate(problem, ["network", "linear"], trials=12).gap("test_loss")
    assert abs(gap.mean[1, 0]) < 0.01 + 4 * gap.stderr[1, 0]


@pytest.fixture
def _own_losses(monkeypatch):
    monkeypatch.setattr(losses.LOSSES, "entries", dict(losses.LOSSES.entries))
    register_loss("plain_logistic", PlainLogistic)
    register_loss("exponential", Exponential)


@pytest.mark.usefixtures("_own_losses")
def test_a_loss_of_one_s_own_is_simulated_and_predicted():
    problem = small(**CLASSES, readout__ridge=1e-2, readout__loss="plain_logistic")
    for verb in (simulate, predict):
        own = verb(problem, "network").metrics
        built_in = verb(problem.replace(readout__loss="logistic"), "network").metrics
        for name in ("test_loss", "train_loss", "misclassification", "squared_weight_norm"):
            assert own[name] == pytest.approx(built_in[name], rel=1e-5), name


@pytest.mark.usefixtures("_own_losses")
def test_theory_of_a_loss_of_one_s_own_agrees_with_simulation():
    problem = small(
        dimension=100,
        teacher={"kind": "sign"},
        network={"width": 80},
        readout={"samples": 120, "ridge": 0.1, "loss": "exponential"},
    )
    simulated = simulate(problem, "network", trials=8).metrics
    predicted = predict(problem, "network", draws=8).metrics
    # The loss of small outputs is near 1: its distance from there is what is learnt.
    for name, size, tolerance in (("test_loss", 1.0, 0.005), ("misclassification", 0.4, 0.05)):
        gaps = (predicted[name] - simulated[name])[:, 0, 0]
        assert abs(gaps.mean()) < tolerance * size + 4 * gaps.std(ddof=1) / np.sqrt(8), name
    assert predicted["test_loss"].mean() < 0.99


def test_refusals_are_one_line():
    with pytest.raises(InvalidInput, match=r"readout.loss='logistic': needs labels of \+1 and -1"):
        small(readout__loss="logistic")
    with pytest.raises(InvalidInput, match=r"readout.loss='hinge': needs labels"):
        small(teacher={"kind": "labels", "noise": 0.1}, readout__loss="hinge")
    with pytest.raises(InvalidInput, match="did you mean 'logistic'"):
        small(readout__loss="logistc")
    several = small(teacher={"links": ["z", "z**2"]}, readout__loss="huber")
    with pytest.raises(InvalidInput, match="theory knows labels by component or by one projection"):
        predict(several, method="types")
