"""Rates and losses over points, where spikes are too many for a grid; signs by one direction."""

import numpy as np
import pytest

from onegrad import Problem, predict, simulate

MEAN = np.random.default_rng(0).standard_normal(100)
MEAN *= 1.2 / np.linalg.norm(MEAN)


def apart(problem, names, trials):
    """Yield the relative gap of theory and its standard error, paired, of every metric."""
    predicted = predict(problem, "network", draws=trials).metrics
    simulated = simulate(problem, "network", trials=trials).metrics
    for name in names:
        ours, theirs = predicted[name][:, 0, 0], simulated[name][:, 0, 0]
        error = np.std(ours - theirs, ddof=1) / np.sqrt(trials)
        yield (ours - theirs).mean() / theirs.mean(), error / theirs.mean()


def many_spikes(loss, **teacher):
    components = [
        {"weight": 0.5, "rank": 6, "mean": sign * MEAN, "label": sign} for sign in (1.0, -1.0)
    ]
    return Problem(
        dimension=100,
        network={"width": 90},
        readout={"samples": 150, "ridge": 1e-2, "loss": loss},
        data={"components": components},
        teacher={"kind": "labels", **teacher},
        test_samples=3000,
    )


@pytest.mark.parametrize(
    ("problem", "names"),
    [
        (many_spikes("square"), ["misclassification"]),
        (many_spikes("logistic"), ["misclassification", "test_loss"]),
        (many_spikes("logistic", kind="sign"), ["misclassification", "test_loss"]),
    ],
)
def test_averages_over_points_are_those_of_simulation(problem, names):
    for gap, error in apart(problem, names, trials=6):
        assert abs(gap) < 0.06 + 4 * error
        assert error < 0.04  # a rate of another problem, a quarter off, would be seen


@pytest.mark.parametrize(
    "teacher",
    [{"kind": "sign"}, {"kind": "logistic", "slope": 3.0}, {"kind": "labels", "flips": 0.1}],
)
@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_signs_by_a_direction_agree_with_simulation(teacher, loss):
    problem = Problem(
        dimension=80,
        network={"width": 60, "activation": "tanh"},
        readout={"samples": 150, "ridge": 1e-2, "loss": loss},
        teacher=teacher,
        test_samples=3000,
    )
    name = "misclassification" if loss == "square" else "test_loss"
    ((gap, error),) = apart(problem, [name], trials=6)
    assert abs(gap) < 0.04 + 4 * error


def test_theory_error_stands_beside_every_prediction():
    errors = predict(many_spikes("square"), ["network", "linear"], draws=2)
    assert errors.metrics["theory_error"].shape == errors.metrics["test_mse"].shape
    assert np.all(errors.metrics["theory_error"] > 0)
    assert "theory_error" not in simulate(many_spikes("square"), "network", trials=1).metrics


def test_known_failures_are_said():
    flat = Problem(
        dimension=100,
        network={"activation": "tanh"},
        readout={"samples": 100, "ridge": 1e-2, "loss": "hinge"},
        data={"components": [{"weight": 0.5, "mean": s * MEAN, "label": s} for s in (1.0, -1.0)]},
        teacher={"kind": "labels"},
        scaling={"strength": 1.0, "weighting": 0.0},
    )
    with pytest.warns(UserWarning, match="few margins lie at the corner of loss='hinge'"):
        predict(flat, "network", draws=1)
    separable = flat.replace(readout__loss="logistic", readout__ridge=1e-8)
    with pytest.warns(UserWarning, match="as near separability"):
        predict(separable, "network", draws=1)
    with pytest.warns(UserWarning, match="train_misclassification below 1 %"):
        predict(flat.replace(readout__loss="square", readout__ridge=3e-4), "network", draws=1)


def test_nothing_is_said_where_nothing_is_known_to_fail(recwarn):
    predict(many_spikes("logistic").replace(readout__ridge=0.1), "network", draws=1)
    assert not [w for w in recwarn if "theory" in str(w.message)]
