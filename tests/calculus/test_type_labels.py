"""What losses make of outputs and labels, against draws of both."""

import numpy as np
import pytest

from onegrad import Problem
from onegrad.calculus.label_responses import Outputs, TypeLabels, losses, misclassified, responses
from onegrad.calculus.losses import get_loss
from onegrad.core.instance import draw

DRAWS = 400_000
OUTPUTS = Outputs(
    mean=np.array([0.3, -0.5]),
    variance=np.array([0.8, 1.7]),
    reach=np.array([0.6, 2.5]),
    projection=np.array([0.35, -0.4]),
)
CENTRES, DEVIATIONS = np.array([0.2, -0.1]), np.array([0.7, 0.7])
TEACHERS = {
    "sign": {"kind": "sign", "flips": 0.1},
    "logistic": {"kind": "logistic", "slope": 3.0},
    "index": {"kind": "index", "link": "relu", "noise": 0.2},
    "smooth": {"kind": "index", "link": "z+z**2/2", "noise": 0.2},  # no kink divides its rule
}


def labels_of(kind):
    teacher = draw(Problem(dimension=20, teacher=TEACHERS[kind])).teacher
    means = teacher.coefficients_at(CENTRES, DEVIATIONS, 0)[0]
    return TypeLabels(
        weights=np.full(2, 0.5),
        components=np.arange(2.0),
        means=means,
        variances=teacher.second_moment_at(CENTRES, DEVIATIONS) - means**2,
        binary=kind in ("sign", "logistic"),
        noise=teacher.noise,
        centres=CENTRES,
        deviations=DEVIATIONS,
        teacher=teacher,
    )


def drawn(labels, index, seed=0):
    """Return outputs, projections and labels of one type."""
    rng = np.random.default_rng(seed)
    cross = OUTPUTS.projection[index]
    covariance = [[OUTPUTS.variance[index], cross], [cross, DEVIATIONS[index] ** 2]]
    pairs = rng.multivariate_normal([OUTPUTS.mean[index], CENTRES[index]], covariance, DRAWS)
    return pairs[:, 0], pairs[:, 1], labels.teacher.labels(pairs[:, 1:], 0, rng)


def close(values, expected):
    error = np.std(values) / np.sqrt(len(values))
    return abs(np.mean(values) - expected) < 4.5 * error + 1e-9


@pytest.mark.parametrize(
    ("kind", "loss"),
    [
        ("sign", "logistic"),
        ("sign", "hinge"),
        ("logistic", "squared_hinge"),
        ("logistic", "square"),
        ("index", "huber:0.3"),
        ("index", "square"),
        ("smooth", "huber:0.3"),
    ],
)
def test_expectations_are_those_of_draws(kind, loss):
    labels, named = labels_of(kind), get_loss(loss)
    ours = responses(labels, named, OUTPUTS)
    errors = losses(labels, named, OUTPUTS)
    for t in range(2):
        u, s, y = drawn(labels, t)
        f, slope = named.response(y, u, OUTPUTS.reach[t])
        x = named.prox(y, u, OUTPUTS.reach[t])
        assert close(f, ours.mean[t])
        assert close(slope, ours.slope[t])
        assert close(f**2, ours.square[t])
        stein = ((s - CENTRES[t]) * f - OUTPUTS.projection[t] * slope) / DEVIATIONS[t] ** 2
        assert close(stein, ours.pull[t])
        assert not close(stein + 0.1, ours.pull[t])  # the control
        assert close(named.value(y, u), errors.test_loss[t])
        assert close((y - x) ** 2, errors.train_mse[t])
        if labels.binary:
            assert close(y * u < 0, errors.test_misclassification[t])
            assert close(y * x < 0, errors.train_misclassification[t])


def test_a_label_without_flips_is_the_same_by_both_ways():
    fixed = TypeLabels(
        weights=np.full(2, 0.5),
        components=np.arange(2.0),
        means=np.array([1.0, -1.0]),
        variances=np.zeros(2),
        binary=True,
    )
    almost = TypeLabels(
        weights=np.full(2, 0.5),
        components=np.arange(2.0),
        means=np.array([1.0, -1.0]) * (1 - 1e-9),
        variances=np.full(2, 2e-9),
        binary=True,
    )
    assert fixed.fixed
    assert not almost.fixed
    loss = get_loss("logistic")
    for name in ("mean", "slope", "square"):
        ours = [getattr(responses(part, loss, OUTPUTS), name) for part in (fixed, almost)]
        np.testing.assert_allclose(ours[0], ours[1], rtol=1e-7)
    np.testing.assert_allclose(
        losses(fixed, loss, OUTPUTS).train_misclassification,
        misclassified(almost, loss, OUTPUTS)[1],
        rtol=1e-6,
    )


def test_noise_of_class_labels_moves_training_outputs():
    labels = TypeLabels(
        weights=np.ones(1),
        components=np.zeros(1),
        means=np.ones(1),
        variances=np.full(1, 0.25),
        binary=True,
        noise=0.5,
    )
    one = Outputs(np.array([0.4]), np.array([0.9]), np.array([1.5]), np.zeros(1))
    rng = np.random.default_rng(0)
    u = 0.4 + np.sqrt(0.9) * rng.standard_normal(DRAWS)
    y = 1 + 0.5 * rng.standard_normal(DRAWS)
    for loss in ("square", "huber:0.5"):
        named = get_loss(loss)
        test, train = misclassified(labels, named, one)
        assert close(u < 0, test[0])
        assert close(named.prox(y, u, 1.5) < 0, train[0])
