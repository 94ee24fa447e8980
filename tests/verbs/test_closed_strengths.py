"""Uniform strengths without draws: a rule that is exact for the largest one and to degree 3."""

import numpy as np
import pytest

from onegrad import Problem, predict
from onegrad.closed import problem as closed_setting
from onegrad.closed.problem import _strengths_of, uniform_strengths


@pytest.mark.parametrize("ranks", [[1], [1, 1], [2, 1], [2, 2], [3, 3]])
def test_the_rule_has_the_moments_of_uniform_strengths_and_of_their_largest(ranks):
    """E u = 1/2, E u² = 1/3, E uu' = 1/4 and E max^p = d/(d + p), alike in every group."""
    weights, values = map(np.array, zip(*uniform_strengths(ranks), strict=True))
    count = sum(ranks)
    assert weights.sum() == pytest.approx(1)
    assert values.shape[1] == count
    assert np.all((values >= 0) & (values <= 1))
    largest = values.max(axis=1)
    for power in (1, 2, 3):
        assert weights @ largest**power == pytest.approx(count / (count + power))
    group = np.repeat(np.arange(len(ranks)), ranks)
    means = [(weights @ values)[group == g].mean() for g in range(len(ranks))]
    squares = [(weights @ values**2)[group == g].mean() for g in range(len(ranks))]
    np.testing.assert_allclose(means, 1 / 2)
    np.testing.assert_allclose(squares, 1 / 3)
    total = values.sum(axis=1)
    assert weights @ total**2 == pytest.approx(count / 3 + count * (count - 1) / 4)


def test_nothing_is_averaged_where_no_strength_is_uniform():
    ((weight, values),) = uniform_strengths([])
    assert weight == 1
    assert values.size == 0


def test_uniform_strengths_are_averaged_to_half_a_per_cent(monkeypatch):
    """Against 256 random strengths, whose mean has a standard error that allows for four of it."""
    problem = Problem(
        dimension=300,
        network={"width": 200},
        readout={"samples": 300, "ridge": 1e-2},
        teacher={"direction": "spikes"},
        scaling={"strength": 0.9, "weighting": 0.2},
        data={"components": [{"weight": 0.5, "strengths": "uniform"}] * 2},
    )
    found = predict(problem, ["untrained"], method="closed").metrics["test_mse"].item()
    rng = np.random.default_rng(3)

    def one(source, spread):
        return [(1.0, _strengths_of(source, spread, draw))]

    monkeypatch.setattr(closed_setting, "weighted_strengths", one)
    values = []
    for _ in range(256):
        draw = rng.uniform(size=2)
        values.append(predict(problem, ["untrained"], method="closed").metrics["test_mse"].item())
    mean, stderr = np.mean(values), np.std(values, ddof=1) / np.sqrt(len(values))
    assert abs(found / mean - 1) < 0.005 + 4 * stderr / mean
    # Negative control: the mean strength on every spike is not the mean error.
    draw = np.full(2, 0.5)
    middle = predict(problem, ["untrained"], method="closed").metrics["test_mse"].item()
    assert abs(middle / mean - 1) > 0.005 + 4 * stderr / mean
