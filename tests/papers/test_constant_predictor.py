"""The best constant predictor's error is what the law of the labels says."""

import math

import numpy as np
import pandas as pd
import pytest

from conftest import small
from onegrad.papers.panel import WIDTH, Panel
from onegrad.papers.tables.constant_lines import constant_lines, constant_words
from onegrad.papers.tables.constant_predictor import constant_error, label_moments_of
from onegrad.training.instance import draw

CLASSES = {
    "teacher": {"kind": "labels"},
    "data": {"components": [{"weight": 0.8, "label": 1.0}, {"weight": 0.2, "label": -1.0}]},
}
PANEL = Panel("own", "own", "A caption.", "What it shows.", WIDTH)


def test_a_relu_of_a_normal_has_a_known_variance():
    isotropic = {"components": [{"weight": 1.0, "rank": 0}]}
    problem = small(data=isotropic, teacher={"link": "relu", "norm": 2.0, "noise": 0.5})
    variance = 4 * (0.5 - 1 / (2 * math.pi)) + 0.25  # E max(z, 0)² = ½, E max(z, 0) = 1/√(2π)
    assert constant_error(problem, "test_mse") == pytest.approx(variance, rel=1e-10)
    assert constant_error(problem, "half_test_mse") == pytest.approx(variance / 2, rel=1e-10)


def test_classes_have_the_variance_share_and_entropy_of_their_weights():
    problem = small(**CLASSES)
    assert constant_error(problem, "half_test_mse") == pytest.approx((1 - 0.6**2) / 2)
    assert constant_error(problem, "misclassification") == pytest.approx(0.2)
    logistic = problem.replace(readout__loss="logistic")
    entropy = -0.8 * math.log(0.8) - 0.2 * math.log(0.2)
    assert constant_error(logistic, "test_loss") == pytest.approx(entropy)


def test_what_is_no_error_of_a_constant_is_unknown():
    assert math.isnan(constant_error(small(), "objective"))
    assert math.isnan(constant_error(small(), "misclassification"))


@pytest.mark.parametrize("links", [["z+z**2", "z-z**2"], ["relu"]])
def test_moments_are_those_of_drawn_labels(links):
    problem = small(teacher={"links": links}, training__samples=20_000)
    instance = draw(problem, seed=3)
    labels = instance.step_batch().labels
    mean, power = label_moments_of(instance)
    spread = labels.std() / math.sqrt(len(labels))
    assert abs(labels.mean() - mean) < 4 * spread
    error = (labels**2).std() / math.sqrt(len(labels))
    assert abs((labels**2).mean() - power) < 4 * error
    # Negative control: two per cent off would be seen.
    assert abs((labels**2).mean() - 1.1 * power) > 4 * error


def table_of(values, constants):
    lines = {"x": np.arange(len(values)), "value": values, "constant": constants}
    return pd.DataFrame(lines).assign(activation="relu")


def test_the_line_is_drawn_where_it_is_near_and_said_in_any_case():
    near = table_of([1.0, 2.0, 3.0], [2.5, 2.5, 2.5])
    (line,) = constant_lines(PANEL, near, by="activation")
    assert line.series == -1
    assert "has 2.5 (long dashes)" in constant_words(PANEL, near)
    far = table_of([1.0, 2.0, 3.0], [9.0, 9.0, 9.0])
    assert constant_lines(PANEL, far, by="activation") == []
    assert "has 9 (beyond the picture)" in constant_words(PANEL, far)


def test_series_with_labels_of_their_own_have_lines_of_their_own():
    both = pd.concat(
        [table_of([1.0, 2.0], [1.5, 1.5]), table_of([1.0, 2.0], [2.0, 2.0]).assign(activation="b")]
    )
    assert [line.series for line in constant_lines(PANEL, both, by="activation")] == [0, 1]
