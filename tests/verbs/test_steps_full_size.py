"""Giant steps at the published sizes: minutes each, run with -m slow -s to see the numbers."""

import numpy as np
import pytest

from onegrad import take_steps
from onegrad.papers.giant_steps import STUDIES

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("study", ["one line", "off the line"])
def test_gradients_stay_on_the_line_or_leave_it(study):
    problem = STUDIES[study].sweep("paper").problem
    records = take_steps(problem).records
    for record in records[1:]:
        print(study, record.step, record.gradient.angle, record.weights.angle)
    assert records[1].gradient.angle < 5
    assert records[1].gradient.outside == 1.0
    if study == "one line":
        assert records[6].gradient.angle < 35
    else:
        assert records[6].gradient.angle > 55


def test_subtraction_lets_the_error_fall_up_to_the_square():
    errors = {}
    for setting in STUDIES["batch"].sweep("paper").settings():
        exponent, subtract, batch = setting.coordinates.values()
        if batch == "same" and (subtract == "linear" or exponent == 2.0):
            untrained, trained = take_steps(setting.problem).records
            errors[exponent, subtract] = (untrained.test_mse, trained.test_mse)
            print(exponent, subtract, errors[exponent, subtract])
    falling = [errors[x / 10, "linear"][1] for x in range(13, 21)]
    assert np.all(np.diff(falling) < 0)
    best = errors[2.0, "linear"][1]
    assert best < errors[2.0, "none"][0] / 4
    assert best < errors[2.0, "none"][1] / 2


def test_spikes_appear_band_by_band():
    features_at = {}
    for setting in STUDIES["spikes"].sweep("paper").settings():
        features = take_steps(setting.problem).records[1].features
        exponent = setting.problem.scaling.change_exponent
        features_at[exponent] = features
        print(exponent, features.predicted, features.observed, features.overlaps[:2].round(2))
    assert features_at[0.0].observed == 0
    assert features_at[0.15].observed == 1
    assert features_at[0.36].observed == 2
    assert features_at[0.15].overlaps[0, 0] > 0.8
    assert features_at[0.36].overlaps[1, 1] > 0.5
