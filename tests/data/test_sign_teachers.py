"""Teachers of labels ±1: moments at any mean and deviation, probabilities, and refusals."""

import numpy as np
import pytest

from conftest import small
from onegrad import ClassLabels, InvalidInput, LogisticIndex, SignIndex
from onegrad.calculus.function import gauss_legendre, normal_density, orthonormal_hermite
from onegrad.core.instance import draw
from onegrad.core.streams import Stream
from onegrad.data.teachers import ExpectedSigns, IndexTeacher, SignTeacher

ORDER, ROWS, LIMIT = 30, 40_000, 4.0  # LIMIT in standard errors
MEANS = (0.0, 0.3, -2.0, 17.0)


def teacher_of(description):
    return SignTeacher(IndexTeacher(np.ones((1, 1)), description.expected_label()))


def integrated(function, mean, deviation):
    """Return E[function(m + s z) h_l(z)] by panels that become fine where m + s z changes sign."""
    centre, fine = -mean / deviation, np.geomspace(min(0.2 / deviation, 1.0), 60, 160)
    edges = np.concatenate([np.linspace(-13, 13, 53), [centre], centre + fine, centre - fine])
    edges = np.unique(np.clip(edges, -13, 13))
    points, weights = gauss_legendre(60)
    half = np.diff(edges)[:, None] / 2
    z = (edges[:-1, None] + half * (points + 1)).ravel()
    weight = (half * weights).ravel() * normal_density(z) * function(mean + deviation * z)
    return orthonormal_hermite(z, ORDER) @ weight


@pytest.mark.parametrize("deviation", [1e-3, 0.5, 4.0, 1e3])
@pytest.mark.parametrize("mean", MEANS)
def test_moments_of_a_sign_are_exact(mean, deviation):
    teacher = teacher_of(SignIndex(flips=0.1))
    exact = teacher.coefficients_at(np.array([mean]), np.array([deviation]), ORDER)[:, 0]
    by_hand = 0.8 * integrated(np.sign, mean, deviation)
    assert exact == pytest.approx(by_hand, abs=1e-12)
    assert exact != pytest.approx(by_hand / 0.8 * 0.81, abs=1e-12)


@pytest.mark.parametrize("scale", [1e-3, 0.5, 10.0, 99.0, 150.0, 1e3])
@pytest.mark.parametrize("slope", [0.2, 1.0, 300.0])
def test_moments_of_logistic_labels_hold_at_every_slope(slope, scale):
    """`scale` is slope·deviation/2: what counts is the product."""
    teacher = teacher_of(LogisticIndex(slope=slope))
    unit = slope / 2
    for mean in MEANS:
        computed = teacher.coefficients_at(np.array([mean / unit]), np.array([scale / unit]), ORDER)
        assert computed[:, 0] == pytest.approx(integrated(np.tanh, mean, scale), abs=3e-11)


@pytest.mark.parametrize("description", [SignIndex(flips=0.2), LogisticIndex(slope=3.0)])
def test_a_projection_that_does_not_vary_has_the_expected_label(description):
    teacher = teacher_of(description)
    means = np.array([0.0, 1e-300, 0.4, -0.4])
    out = teacher.coefficients_at(means, np.array([0.0, 0.0, 0.0, 0.0]), 3)
    assert np.array_equal(out[0], teacher.expected_labels(means[:, None], 0))
    assert not np.any(out[1:])
    mixed = teacher.coefficients_at(means, np.array([0.0, 1.0, 0.0, 2.0]), 3)
    assert np.array_equal(mixed[:, [0, 2]], out[:, [0, 2]])
    assert np.all(mixed[1, [1, 3]] > 0)
    assert np.array_equal(teacher.second_moment_at(means, 0 * means), np.ones(4))


def test_zero_counts_as_positive():
    teacher = teacher_of(SignIndex())
    labels = teacher.labels(np.array([[0.0], [-1e-300], [2.0]]), 0, np.random.default_rng(0))
    assert labels.tolist() == [1, -1, 1]


@pytest.mark.parametrize(
    ("description", "share"),
    [
        (SignIndex(flips=0.2), 0.8),
        (LogisticIndex(slope=2.0), 1 / (1 + np.exp(-0.6))),
        (ClassLabels(flips=0.1), 0.9),
    ],
)
def test_labels_are_as_likely_as_said(description, share):
    """P(y = 1) at ξᵀx = 0.3, or of a component of label 1."""
    if isinstance(description, ClassLabels):
        teacher = draw(small(teacher=description)).teacher
    else:
        teacher = teacher_of(description)
    assert isinstance(teacher, ExpectedSigns)
    points = np.full((ROWS, 1), 0.3)
    labels = teacher.labels(points, 0, np.random.default_rng(1))
    assert set(labels) == {1.0, -1.0}
    error = LIMIT * np.sqrt(share * (1 - share) / ROWS)
    assert abs(np.mean(labels > 0) - share) < error
    assert abs(np.mean(labels > 0) - share - 0.02) > error  # the control
    assert teacher.expected_labels(points, 0) == pytest.approx(2 * share - 1)


@pytest.mark.parametrize(
    "teacher",
    [{"kind": "sign", "flips": 0.1}, {"kind": "logistic"}, {"kind": "labels", "flips": 0.3}],
)
def test_blocks_have_the_labels_of_the_whole_batch(teacher):
    instance = draw(small(teacher=teacher, readout__samples=3000))
    whole = instance.training_batch()
    drawn = instance.readout_draw(1)
    assert drawn.stream == Stream.TRAINING_DATA
    for parts in (drawn.blocks(), drawn.granules()):
        labels = np.concatenate([part.labels for part in parts])
        assert np.array_equal(labels, whole.labels)


def test_flips_move_no_other_stream():
    """The same ξ and inputs; a label changes where its own uniform number says so."""
    batches = [
        draw(small(teacher={"kind": "sign", "flips": flips})).training_batch()
        for flips in (0.0, 0.2)
    ]
    assert np.array_equal(batches[0].inputs, batches[1].inputs)
    assert 0 < np.mean(batches[0].labels != batches[1].labels) < 0.5
    plain = draw(small(teacher={"link": "tanh"})).teacher
    assert np.array_equal(
        plain.directions, draw(small(teacher={"kind": "sign"})).teacher.directions
    )


def test_refusals_are_one_line():
    with pytest.raises(InvalidInput, match=r"teacher.flips=0.6: must lie in \[0, 0.5\]; lower it"):
        small(teacher={"kind": "sign", "flips": 0.6})
    with pytest.raises(InvalidInput, match=r"teacher.slope=0.0: must be greater than 0"):
        small(teacher={"kind": "logistic", "slope": 0.0})
    with pytest.raises(InvalidInput, match=r"noise=1 and flips=0.1: must not be given together"):
        small(teacher={"kind": "labels", "noise": 1.0, "flips": 0.1})
    components = [{"weight": 0.5, "label": 1.0}, {"weight": 0.5, "label": 2.0}]
    with pytest.raises(InvalidInput, match=r"teacher.flips=0.1: needs labels of \+1 and -1"):
        small(teacher={"kind": "labels", "flips": 0.1}, data__components=components)
    with pytest.raises(InvalidInput, match=r"teacher.direction: has length 3"):
        small(teacher={"kind": "sign", "direction": [1.0, 2.0, 3.0]})
