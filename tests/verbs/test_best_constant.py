"""The error of the best constant: known answers, and the limit of a network that is all penalty."""

import numpy as np
import pytest

from conftest import small
from onegrad import EmpiricalData, Problem, simulate
from onegrad.core.instance import draw
from onegrad.results.best_constant import best_constant, constant_of_labels


def test_of_two_signs_it_is_known():
    errors = constant_of_labels([1.0, -1.0], [0.8, 0.2], loss="logistic")
    assert errors["test_mse"] == pytest.approx(1 - 0.6**2)
    assert errors["misclassification"] == pytest.approx(0.2)
    entropy = -0.8 * np.log(0.8) - 0.2 * np.log(0.2)
    assert errors["test_loss"] == pytest.approx(entropy, rel=1e-6)


def test_flips_and_noise_count():
    flipped = constant_of_labels([1.0, -1.0], [0.8, 0.2], flips=0.1)
    assert flipped["misclassification"] == pytest.approx(0.5 - 0.5 * 0.8 * 0.6)
    assert constant_of_labels([1.0, -1.0], [0.5, 0.5], noise=2.0)["test_mse"] == pytest.approx(5.0)


def test_of_one_output_per_class_it_is_the_mean_over_them():
    errors = constant_of_labels([0.0, 1.0, 2.0], [0.5, 0.25, 0.25], each_class=True)
    assert errors["test_mse"] == pytest.approx((1 + 0.75 + 0.75) / 3)
    assert errors["misclassification"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    "teacher", [{"link": "tanh", "noise": 0.3}, {"kind": "labels"}, {"kind": "sign"}]
)
def test_a_network_that_is_all_penalty_has_its_error(teacher):
    """ŷ → 0: the test MSE is E y², that of the best constant where y has no mean."""
    problem = small(teacher=teacher, readout__ridge=1e9)
    errors = simulate(problem, ["network"], trials=4)
    values = errors.metrics["test_mse"][:, 0, 0]
    assert errors.best_constant["test_mse"] == pytest.approx(values.mean(), rel=1e-6)


def test_of_a_relu_of_a_normal_it_is_known():
    isotropic = {"components": [{"weight": 1.0, "rank": 0}]}
    problem = small(data=isotropic, teacher={"link": "relu", "norm": 2.0, "noise": 0.5})
    variance = 4 * (0.5 - 1 / (2 * np.pi)) + 0.25  # E max(z, 0)² = ½, E max(z, 0) = 1/√(2π)
    assert best_constant(problem) == {"test_mse": pytest.approx(variance, rel=1e-10)}


@pytest.mark.parametrize("teacher", [{"noise": 0.5}, {"links": ["z+z**2", "z-z**2"]}])
def test_it_is_the_variance_of_sampled_labels(teacher):
    problem = small(teacher=teacher)
    batch = draw(problem.replace(readout__samples=40_000)).training_batch().labels
    known = best_constant(problem)["test_mse"]
    assert known == pytest.approx(batch.var(), abs=5 * np.std(batch**2) / np.sqrt(len(batch)))


def test_a_mixture_too_large_to_draw_for_it_has_none():
    assert best_constant(Problem(dimension=10**9)) == {}


def test_results_show_it(rows):
    problem = Problem(data=EmpiricalData(*rows), readout={"samples": 40}, test_samples=40)
    errors = simulate(problem, ["network"], trials=2)
    assert errors.best_constant == {"test_mse": 1.0, "misclassification": 0.5}
    assert errors.to_dict()["best_constant"] == errors.best_constant
