"""Tuning by theory: the best of a grid, budgets, edges."""

import pytest

from conftest import small
from onegrad import predict, tune


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


def test_a_best_value_at_the_edge_is_said():
    with pytest.warns(UserWarning, match="edge of the searched range"):
        tune(small(network__activation="hermite:2", teacher__noise=1e4), "ridge", draws=1)
