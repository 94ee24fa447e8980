"""What the stages of a trial were once silent about, each in one line now."""

import numpy as np
import pytest

from conftest import small
from onegrad import InvalidInput, Problem, maximal_rate_limit, predict, predict_curve
from onegrad.core.instance import Layers
from onegrad.stages import draw, fit_readout, measure_errors, take_step

FEATURES = np.arange(12.0).reshape(4, 3) ** 1.5
LABELS = np.array([1.0, -1.0, 1.0, 1.0])
LAYERS = Layers(np.ones((2, 3)), np.ones(2))
HIDDEN = np.zeros((4, 3), dtype=bool)
HIDDEN[1, 2] = True


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ridge": -1e-3}, r"ridge=-0\.001: must be finite and greater than 0; change it"),
        ({"ridge": [0.1, 0]}, r"ridge=0: must be finite and greater than 0; change it"),
        ({"labels": np.where(LABELS > 0, LABELS, np.nan)}, r"labels\[1\]=nan: must be finite; .*"),
        (
            {"labels": LABELS[:3]},
            r"labels=ndarray of 3 float64: must have one entry per row .* 4; .*",
        ),
        ({"labels": LABELS[:, None]}, r"labels=ndarray of 4 × 1 float64: must be a list of .*; .*"),
        ({"features": FEATURES + 1j}, r"features=ndarray of 4 × 3 complex128: must be an .*; .*"),
        (
            {"features": np.ma.array(FEATURES, mask=HIDDEN)},
            r"features=MaskedArray of 4 × 3 float64: must not have masked .*; fill .*",
        ),
        (
            {"features": FEATURES[:0], "labels": LABELS[:0]},
            r"features=ndarray of 0 × 3 .*; correct it",
        ),
        (
            {"labels": 1e300 * LABELS},
            r"ridge=\[0\.1\]: the readout's weights or errors are not .*; .*",
        ),
    ],
)
def test_readouts_of_wrong_arrays_and_penalties_are_refused(changes, message):
    given = {"features": FEATURES, "labels": LABELS, "ridge": 0.1, **changes}
    with pytest.raises(InvalidInput, match=f"^{message}$"):
        fit_readout(**given)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"labels": np.append(LABELS, 1.0)},
            r"labels=ndarray of 5 float64: must have one entry .*",
        ),
        ({"inputs": FEATURES[:0], "labels": LABELS[:0]}, r"inputs=ndarray of 0 × 3 float64: .*"),
        ({"inputs": FEATURES[:, :2]}, r"inputs=ndarray of 4 × 2 float64: must have 3 columns, .*"),
        (
            {"activation": "rleu"},
            r"activation='rleu': must be one of relu, .*; did you mean 'relu'.*",
        ),
        ({"activation": np.tanh}, r"activation=<ufunc 'tanh'>: must be a name or a formula; .*"),
        ({"learning_rate": "fast"}, r"learning_rate='fast': must be a number; correct it"),
        (
            {"learning_rate": 1e308, "inputs": 1e9 * FEATURES},
            r"learning_rate=1e\+308: the first .*",
        ),
        ({"layers": (np.ones((2, 3)), np.ones(2))}, r"layers=.*: must be a Layers; make them .*"),
        (
            {"layers": Layers(np.ones((2, 3)), np.ones(3))},
            r"layers\.second=ndarray of 3 float64: .*",
        ),
    ],
)
def test_steps_on_wrong_batches_are_refused(changes, message):
    step = {"layers": LAYERS, "inputs": FEATURES, "labels": LABELS, "activation": "relu"}
    with pytest.raises(InvalidInput, match=f"^{message}$"):
        take_step(**{**step, "learning_rate": 0.1, **changes})


def test_errors_of_other_readouts_are_refused():
    instance = draw(small())
    with pytest.raises(InvalidInput, match=r"^maps={}: must be a table of feature maps"):
        measure_errors(instance, np.ones((2, 40)), {}, {})
    with pytest.raises(InvalidInput, match="must have 40 columns, the problem's dimension"):
        measure_errors(instance, np.ones((2, 39)), {}, {})


def test_curves_over_fields_that_change_the_axes_of_results_are_refused():
    for over in ({"training.steps": [1, 2]}, {"readout.ridge": [[0.1, 0.2], [0.1, 0.3]]}):
        with pytest.raises(InvalidInput, match="must leave the number of steps and of penalties"):
            predict_curve(small(), over=over, models="network", draws=1)


def test_problem_files_must_be_named_by_a_path():
    with pytest.raises(InvalidInput, match=r"^file=5: must be a path; give a string or a Path$"):
        Problem.load(5)
    with pytest.raises(InvalidInput, match=r"^changes=5: must be a table of values by path; "):
        small().replace(5)


def test_sizes_and_levels_beyond_all_numbers_are_refused():
    with pytest.raises(
        InvalidInput, match=r"^network\.width_ratio=1e\+308: gives more than 1e\+09"
    ):
        Problem(network={"width_ratio": 1e308})
    large = small(data__components__0__level=1e308)
    with pytest.raises(InvalidInput, match="is not finite; bring learning rate, spread, levels"):
        predict(large, "network", draws=1)
    sizes = {"step_ratio": 2, "rate": 1, "width_ratio": 1, "ridge": 0.1}
    with pytest.raises(InvalidInput, match="the equations overflow; bring them nearer to 1"):
        maximal_rate_limit("tanh", "sin", sample_ratio=1e308, **sizes)
