"""How sure `tune` is: paired differences, flat curves, and the check on rows of its own."""

import numpy as np
import pytest

from conftest import small
from onegrad import EmpiricalData, InvalidInput, Problem, tune
from onegrad.results.tuned import FitCheck, contrast_of

BEST = np.array([1.0, 2.0, 3.0, 4.0])


def test_differences_are_paired():
    """Draws differ by one and more, the candidates by a hundredth in each."""
    noise = np.array([0.001, -0.001, 0.001, -0.001])
    contrast = contrast_of({"near": BEST + 0.01 + noise, "far": BEST + 1.0}, BEST)
    assert (contrast.runner_up, contrast.worst) == ("near", "far")
    assert contrast.difference == pytest.approx(0.01)
    assert contrast.stderr == pytest.approx(np.std(noise, ddof=1) / 2)
    assert not contrast.flat
    assert "runner-up near: 0.01 ± 0.00058 above the best" in str(contrast)


def test_what_lies_within_noise_is_flat():
    noisy = BEST + np.array([0.3, -0.2, 0.2, -0.25])
    assert contrast_of({"a": noisy}, BEST).flat
    assert "flat: the worst (a)" in str(contrast_of({"a": noisy}, BEST))
    assert contrast_of({"a": np.array([1.0005])}, np.array([1.0])).flat
    assert not contrast_of({"a": np.array([1.1])}, np.array([1.0])).flat
    assert contrast_of({}, BEST) is None


def test_tuning_tells_runner_up_and_constant():
    found = tune(small(readout__samples=100), ["learning_rate"], draws=3)
    place = found.curve.sort_values("test_mse").reset_index()
    gap = place["test_mse"][1] - place["test_mse"][0]
    assert found.contrast.difference == pytest.approx(gap, rel=1e-6)
    assert found.contrast.runner_up == f"learning_rate = {place['learning_rate'][1]:.4g}"
    assert found.best < found.constant
    assert found.check is None  # no fit to be checked
    assert found.to_dict()["contrast"]["flat"] == found.contrast.flat


def test_where_the_penalty_leaves_nothing_all_rates_are_flat():
    problem = small(teacher={"kind": "labels"}, readout__ridge=1e9)
    assert tune(problem, "learning_rate", draws=2).contrast.flat


def test_a_fit_is_checked_on_rows_that_it_has_not_seen(rows):
    data = EmpiricalData(*rows, fit={"components_per_class": 1})
    problem = Problem(data=data, readout={"samples": 30, "ridge": 1e-2}, test_samples="rest")
    found = tune(problem, "learning_rate", draws=2, check_trials=12)
    assert found.check.predicted == found.best
    # The rows are Gaussian: theory on the fitted mixture is right, up to the few rows of the fit.
    assert abs(found.check.difference) < 0.2 * found.check.simulated + 4 * found.check.stderr
    assert tune(problem, "ridge", draws=1, check_trials=0).check is None
    with pytest.raises(InvalidInput, match="check_trials"):
        tune(problem, check_trials=-1)


def test_a_check_says_poor_good_or_unknown():
    assert "the fit is poor" in str(FitCheck("test_mse", 0.1, 0.2, 0.01, 8))
    assert "holds to a tenth" in str(FitCheck("test_mse", 0.2, 0.21, 0.01, 8))
    unknown = FitCheck("test_mse", 0.1, 0.2, 0.09, 8)
    assert "too few trials" in str(unknown)
    assert [unknown.poor, unknown.holds] == [False, False]
