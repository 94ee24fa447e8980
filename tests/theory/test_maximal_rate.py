"""The maximal-rate limit: against its simulation, what it refuses, how it is resolved."""

import pytest

from onegrad import InvalidInput, maximal_rate_limit, simulate
from onegrad.describe.exceptions import NotConverged
from onegrad.theory.maximal_rate import marchenko_pastur
from theory_cases import limit_problem


def test_marchenko_pastur_has_its_moments():
    for ratio in (0.3, 1.0, 2.5):
        points, weights = marchenko_pastur(ratio)
        assert weights @ points == pytest.approx(1, abs=1e-6)
        assert weights @ points**2 == pytest.approx(1 + ratio, abs=1e-5)


def test_the_limit_agrees_with_its_simulation_and_the_correction_matters():
    """tanh student, sin teacher, k = 2n: the published limit is several per cent high."""
    n, width, ratio = 200, 2.0, 3.0
    limit = maximal_rate_limit(
        "tanh", "sin", step_ratio=20, rate=3, width_ratio=width, sample_ratio=[ratio], ridge=0.1
    )
    problem = limit_problem("tanh", "sin", n=n, width=width, ratio=ratio)
    estimate = simulate(problem, ["network"], trials=8).estimate()
    mean, stderr = estimate.mean[0, 0], estimate.stderr[0, 0]
    assert abs(limit.corrected[0].test_mse - mean) <= 4 * stderr + 0.04 * mean
    assert limit.published[0].test_mse > 1.05 * limit.corrected[0].test_mse
    assert limit.corrected[0].residual < 1e-9


def test_the_limit_refuses_even_activations_and_says_when_it_does_not_converge(monkeypatch):
    settings = {"step_ratio": 20, "rate": 3, "width_ratio": 1, "sample_ratio": [1], "ridge": 0.1}
    with pytest.raises(InvalidInput, match="must be odd"):
        maximal_rate_limit("relu", "sin", **settings)
    with pytest.raises(InvalidInput, match="ridge=-1"):
        maximal_rate_limit("tanh", "sin", **{**settings, "ridge": -1})
    monkeypatch.setattr("onegrad.theory.maximal_rate.MOST_ITERATIONS", 3)
    with pytest.raises(NotConverged, match="after 3 iterations"):
        maximal_rate_limit("tanh", "sin", **settings)


def test_the_limit_is_resolved_at_large_rates():
    """Halving the step of the spike coordinate must change nothing."""
    settings = {"step_ratio": 20, "rate": 30, "width_ratio": 1, "ridge": 0.1}
    settings["sample_ratio"] = [3.0]
    coarse = maximal_rate_limit("tanh", "sin", **settings).corrected[0].test_mse
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("onegrad.theory.maximal_rate.STEP", 0.01)
        fine = maximal_rate_limit("tanh", "sin", **settings).corrected[0].test_mse
    assert coarse == pytest.approx(fine, rel=1e-6)
