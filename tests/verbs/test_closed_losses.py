"""Verbs by theory without draws, for other losses than the square."""

import json

import numpy as np
import pytest

from conftest import small
from onegrad import InvalidInput, Problem, equivalence, predict, predict_curve, register_loss, tune
from own_losses import PlainLogistic

LABELS = {"kind": "labels"}


def classes(loss="logistic", **changes):
    """Return classes in 300 dimensions, where theory without draws has no doubt."""
    base = Problem(
        dimension=300,
        network={"width": 200},
        readout={"samples": 300, "ridge": 1e-2, "loss": loss},
        teacher=LABELS,
    )
    return base.replace(**changes)


LOSSES = ("logistic", "squared_hinge", "hinge", "huber:0.5")
TEACHERS = (LABELS, {"kind": "sign"}, {"direction": "spikes"})
QUICK = {(0, "logistic"), (0, "squared_hinge"), (0, "hinge"), (1, "logistic"), (2, "huber:0.5")}
CASES = [
    pytest.param(teacher, loss, marks=() if (place, loss) in QUICK else pytest.mark.slow)
    for place, teacher in enumerate(TEACHERS)
    for loss in LOSSES
]


@pytest.mark.parametrize(("teacher", "loss"), CASES)
def test_the_metrics_are_those_of_theory_by_types(loss, teacher):
    if "kind" not in teacher and not loss.startswith("huber"):
        teacher = {"kind": "logistic", "slope": 2.0, **teacher}
    problem = small(teacher=teacher, readout__loss=loss, readout__ridge=0.1)
    models = ["network", "hermite:2", "linear", "untrained"]
    with np.errstate(all="raise", under="ignore"):
        answer = predict(problem, models, method="closed")
    assert answer.method == "closed"
    assert set(answer.metrics) == set(predict(problem, "network", draws=1).metrics)
    train, norm, objective = (
        answer.metrics[name] for name in ("train_loss", "squared_weight_norm", "objective")
    )
    np.testing.assert_allclose(objective, train + 0.05 * norm, rtol=1e-12)
    json.dumps(answer.to_dict(), allow_nan=False)


def test_huber_with_a_wide_middle_is_the_square():
    """To what quadrature leaves: other losses than the square have more types of samples."""
    problem = classes("huber:1000", teacher={"direction": "spikes", "noise": 0.2})
    huber = predict(problem, ["network", "untrained"], method="closed").metrics
    square = predict(
        problem.replace(readout__loss="square"), ["network", "untrained"], method="closed"
    ).metrics
    for name in ("test_mse", "train_mse", "objective", "squared_weight_norm"):
        np.testing.assert_allclose(huber[name], square[name], rtol=1e-4)
    np.testing.assert_allclose(huber["train_loss"], square["train_mse"] / 2, rtol=1e-4)


def test_a_loss_of_your_own_is_the_built_in_one():
    register_loss("plain_logistic_closed", PlainLogistic)
    own = predict(classes("plain_logistic_closed"), "network", method="closed").metrics
    built_in = predict(classes(), "network", method="closed").metrics
    for name in ("test_loss", "misclassification", "squared_weight_norm"):
        assert own[name] == pytest.approx(built_in[name], rel=1e-5)


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("readout.samples", [150, 600]),
        ("readout.ridge", [1e-3, 1e-1]),
        ("network.width", [100, 400]),
        ("scaling.strength", [0.2, 0.8]),
        ("readout.loss", ["logistic", "hinge"]),
    ],
)
def test_a_curve_over_any_field_is_its_points(path, values):
    problem = classes(network__width=200, training__samples=300)
    curve = predict_curve(problem, over={path: values}, models=["network"], method="closed")
    for i, value in enumerate(values):
        alone = predict(problem.replace({path: value}), "network", method="closed")
        for name in ("test_loss", "misclassification"):
            np.testing.assert_array_equal(curve.metrics[name][:, :, i], alone.metrics[name])
    assert curve.metrics["test_loss"][0, 0, 0, 0] != curve.metrics["test_loss"][0, 0, 1, 0]


def test_auto_takes_closed_where_it_has_no_doubt_and_types_elsewhere(recwarn):
    assert predict(classes(), "network", method="auto").method == "closed"
    assert not [w for w in recwarn if "takes types" in str(w.message)]
    loud = classes(network__width=10, readout__samples=20)
    with pytest.warns(UserWarning, match="takes types: method='closed': the step adds"):
        assert predict(loud, "network", method="auto").method == "types"


def test_degrees_are_compared_by_the_loss():
    found = equivalence(classes(), degrees=[1, 2], method="closed", metric="test_loss")
    answer = predict(classes(), ["network", "hermite:1", "hermite:2"], method="closed")
    assert found.gaps == pytest.approx(answer.gap("test_loss").mean[1:, 0], rel=1e-6, abs=1e-12)


def test_tuning_is_refused_in_one_line_that_names_the_method():
    with pytest.raises(InvalidInput, match=r"readout.loss='logistic'.*use method='types'") as said:
        tune(classes(), "ridge", method="closed", metric="test_loss")
    assert "\n" not in str(said.value)
