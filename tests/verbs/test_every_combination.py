"""Every combination of data, teacher, training and readout works, or says in one line why not."""

import itertools
import warnings

import numpy as np
import pytest

from onegrad import EmpiricalData, InvalidInput, MixtureSource, Problem, predict, simulate

RNG = np.random.default_rng(11)
CLASSES = np.repeat([0, 1], 150)
ROWS = RNG.standard_normal((300, 8)) + 0.5 * CLASSES[:, None]
DATA = {
    "default": {},
    "mixture": {"data": MixtureSource()},
    "isotropic": {"data": {"components": [{"rank": 0}]}},
    "rows": {"data": EmpiricalData(ROWS, CLASSES, fit={"components_per_class": 1, "rank": 2})},
}
TEACHERS = {
    "index": {"kind": "index", "link": "tanh"},
    "along spikes": {"kind": "index", "direction": "spikes"},
    "labels": {"kind": "labels"},
    "flipped labels": {"kind": "labels", "flips": 0.1},
    "sign": {"kind": "sign", "direction": "spikes"},
    "logistic": {"kind": "logistic", "slope": 3.0},
    "mean": {"links": ["z", "z**2"]},
    "sum": {"links": ["relu", "z"], "combine": "sum", "noise": 0.1},
    "product": {"links": ["z", "z"], "combine": "product", "directions": "spikes"},
    "staircase": {"links": ["z", "z"], "combine": "staircase", "directions": "last_spikes"},
}
RULES = ("gradient", "sign", "polar", "whitened:0.5")
SUBTRACTIONS = ("none", "mean", "linear", "moments")
READOUTS = (
    {"samples": 20, "ridge": 0.1},
    {"batch": "same", "penalty": 1.0},
    {"samples": 20, "ridge": (0.1, 1.0), "outputs": "classes"},
)
SCALINGS = (
    {},
    {"per_width": 0.5, "spread": 2.0},
    {"per_root": 0.2},
    {"change_exponent": 0.2, "spread": 1.0},
)
MODELS = ["network", "hermite:2", "linear", "untrained", "conditional"]
COMBINATIONS = list(
    itertools.product(
        DATA,
        TEACHERS,
        RULES,
        SUBTRACTIONS,
        (1, 2),
        ("fresh", "reused"),
        (0, 1, 2),
        range(4),
        (0.0, 0.5),
    )
)
CHOSEN = [COMBINATIONS[i] for i in RNG.choice(len(COMBINATIONS), 150, replace=False)]


def described(data, teacher, rule, subtract, steps, batches, readout, scaling, momentum):
    """Return the problem of a combination, of eight dimensions."""
    training = {"steps": steps, "rule": rule, "subtract": subtract, "batches": batches}
    fields = {
        **DATA[data],
        "teacher": TEACHERS[teacher],
        "training": {**training, "samples": 24, "momentum": momentum},
        "readout": READOUTS[readout],
        "network": {"width": 10},
        "test_samples": 20,
    }
    if SCALINGS[scaling]:
        fields["scaling"] = SCALINGS[scaling]
    return Problem(**fields) if data == "rows" else Problem(dimension=8, **fields)


def attempt(function, *arguments, **options):
    """Return what a function gives, or the one line in which it refuses."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*arguments, **options)
    except InvalidInput as error:
        return str(error)


def worked(result):
    """Return whether there are finite numbers; a refusal must be one line with a remedy."""
    if isinstance(result, str):
        assert "\n" not in result
        assert ": " in result
        assert "; " in result
        return False
    assert all(np.all(np.isfinite(values)) for values in result.metrics.values())
    shape = next(iter(result.metrics.values())).shape
    assert shape == tuple(len(axis) for axis in result.axes.values())
    return True


@pytest.mark.parametrize(
    "part", [0, 1, *(pytest.param(part, marks=pytest.mark.slow) for part in range(2, 6))]
)
def test_every_combination_works_or_says_why(part):
    count = 0
    for combination in CHOSEN[part::6]:
        problem = attempt(described, *combination)
        if isinstance(problem, str):
            assert not worked(problem)
            continue
        for model in MODELS:
            count += worked(attempt(simulate, problem, [model], trials=2))
        count += worked(attempt(predict, problem, MODELS[:4], draws=1))
    assert count > 30
