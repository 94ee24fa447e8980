"""Readouts by convex losses in whole trials: what is measured, and what is refused."""

import numpy as np
import pytest

from conftest import small
from onegrad import InvalidInput, predict, simulate

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


def test_refusals_are_one_line():
    with pytest.raises(InvalidInput, match=r"readout.loss='logistic': needs labels of \+1 and -1"):
        small(readout__loss="logistic")
    with pytest.raises(InvalidInput, match=r"readout.loss='hinge': needs labels"):
        small(teacher={"kind": "labels", "noise": 0.1}, readout__loss="hinge")
    with pytest.raises(InvalidInput, match="did you mean 'logistic'"):
        small(readout__loss="logistc")
    with pytest.raises(InvalidInput, match="method='single': knows the square loss"):
        predict(small(**CLASSES, readout__loss="logistic"), method="single")
    several = small(teacher={"links": ["z", "z**2"]}, readout__loss="huber")
    with pytest.raises(InvalidInput, match="theory knows labels by component or by one projection"):
        predict(several, method="types")
