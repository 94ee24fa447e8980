"""Tuning by theory: the best of a grid, budgets, edges, metrics and methods."""

import json

import numpy as np
import pytest

from conftest import small
from onegrad import InvalidInput, Tuned, predict, tune
from onegrad.describe.exceptions import NotConverged
from onegrad.verbs.predict import predict_draw
from onegrad.verbs.tune import RIDGES


def test_tuning_finds_the_best_of_a_predicted_grid():
    problem = small(readout__samples=100, teacher={"noise": 0.2})
    found = tune(problem, ["ridge", "learning_rate"], draws=2)
    assert set(found.values) == {"ridge", "learning_rate"}
    for ridge in (1e-6, 1e-3, 1e-1):
        for rate in (0.1, 10.0):
            other = found.problem.replace(
                readout__ridge=ridge,
                scaling__learning_rate=rate,
                scaling__spread=found.problem.scaling.spread,
            )
            value = predict(other, ["network"], draws=2).estimate().mean[0, 0]
            assert value >= found.test_mse * (1 - 1e-9)


def test_tuned_widths_stay_within_the_budget():
    found = tune(small(readout__samples=100), ["width"], budget=64, draws=1)
    assert found.curve.width.max() <= 64
    assert found.problem.width <= 64


def test_no_point_of_the_refined_grid_is_predicted_twice():
    found = tune(small(readout__samples=100), "learning_rate", draws=1)
    rates = np.sort(found.to_frame().learning_rate)
    assert len(rates) > 7  # the first grid, and some around its best
    assert np.min(rates[1:] / rates[:-1]) > 1.01


def test_widths_can_be_tuned_without_a_step():
    still = small(scaling={"learning_rate": 0.0, "spread": 1.0}, readout__samples=60)
    found = tune(still, "width", draws=2)
    assert found.contrast is not None


def test_a_best_value_at_the_edge_is_said():
    with pytest.warns(UserWarning, match="edge of the searched range"):
        tune(small(network__activation="hermite:2", teacher__noise=1e4), "ridge", draws=1)


def test_by_types_the_penalty_is_the_best_of_all_81():
    problem = small(readout__samples=100, teacher={"noise": 0.2})
    found = tune(problem, "ridge", method="types", draws=2)
    everything = problem.replace(readout__ridge=RIDGES)
    mean = predict(everything, ["network"], method="types", draws=2).estimate().mean[0]
    assert found.values["ridge"] == RIDGES[int(np.argmin(mean))]
    assert found.best == pytest.approx(mean.min(), rel=1e-9)
    assert len(found.ridge_curve) < 20


@pytest.mark.parametrize("metric", ["misclassification", "test_loss"])
def test_the_metric_of_a_classifier_is_minimised(metric):
    problem = small(
        teacher={"kind": "labels"},
        readout={"samples": 60, "ridge": 1e-2, "loss": "logistic"},
        scaling={"strength": 0.9, "weighting": 0.0},
    )
    found = tune(problem, "ridge", metric=metric, method="types", draws=2)
    assert (found.metric, found.method) == (metric, "types")
    for factor in (0.1, 1.0, 10.0):
        other = problem.replace(readout__ridge=factor * found.values["ridge"])
        value = predict(other, ["network"], method="types", draws=2).estimate(metric).mean[0, 0]
        assert value >= found.best * (1 - 1e-9)
    assert found.to_dict()[metric]["mean"] == found.best
    assert metric in repr(found)
    with pytest.raises(AttributeError, match="read best"):
        _ = found.test_mse


def test_after_several_steps_it_is_the_last_step_s_error_that_is_tuned():
    problem = small(training__steps=2, scaling={"learning_rate": 30.0, "spread": 5.0})
    found = tune(problem, "ridge", draws=1)
    after = predict(found.problem, ["network"], draws=1).estimate().mean[0, :, 0]
    assert found.test_mse == pytest.approx(after[-1], rel=1e-12)
    assert found.test_mse != pytest.approx(after[0], rel=1e-3)


def test_the_result_is_short_text_and_plain_values():
    problem = small(readout__samples=100, teacher={"noise": 0.2})
    found = tune(problem, "ridge", draws=2)
    assert isinstance(found, Tuned)
    assert "best constant" in repr(found)
    assert "runner-up" in repr(found)
    assert len(repr(found).splitlines()) < 10
    assert repr(found).startswith("Tuned: ridge = ")
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["metric"] == "test_mse"
    assert plain["test_mse"] == {"mean": found.test_mse, "stderr": found.stderr}
    assert len(plain["ridge_curve"]["test_mse"]) == len(found.ridge_curve)


def test_penalties_without_a_fixed_point_are_passed_over(monkeypatch):
    """Below 1e-3 nothing converges here: the best of the others is found."""

    def picky(problem, models, **how):
        if min(problem.ridges) < 1e-3:
            raise NotConverged("no fixed point")
        return predict_draw(problem, models, **how)

    monkeypatch.setattr("onegrad.verbs.tune.predict_draw", picky)
    problem = small(readout__samples=100, teacher={"noise": 0.2})
    found = tune(problem, "ridge", method="types", draws=1)
    assert found.values["ridge"] >= 1e-3
    assert found.ridge_curve.ridge.min() >= 1e-3
    json.dumps(found.to_dict(), allow_nan=False)
    with pytest.raises(NotConverged, match="did not converge at any penalty"):
        tune(problem.replace(readout__ridge=1e-5), "learning_rate", method="types", draws=1)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"metric": "objective"}, "must be one of test_mse, "),
        ({"metric": "misclassification"}, "needs one output per class"),
        ({"metric": "test_loss"}, "has the test MSE alone"),
        ({"method": "single"}, "method='single': must be types or closed or auto"),
    ],
)
def test_a_metric_that_the_problem_lacks_is_refused_in_one_line(how, said):
    with pytest.raises(InvalidInput, match=said) as refused:
        tune(small(), **how)
    assert "\n" not in str(refused.value)
