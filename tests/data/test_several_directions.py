"""Sums, products and staircases of links: moments against samples, each other and closed forms."""

import warnings

import numpy as np
import pytest

from onegrad import Component, InvalidInput, MixtureSource, MultiIndex
from onegrad.calculus import functions
from onegrad.calculus.function import Function, orthonormal_hermite
from onegrad.calculus.joint_expectations import multi_indices, product_coefficients
from onegrad.data import joint_teachers
from onegrad.data.joint_teachers import JointTeacher, TeacherSum, product_moment, residual
from onegrad.data.mixture import Gaussian
from onegrad.data.teachers import (
    IndexTeacher,
    LabelTeacher,
    projection_coefficients,
    projection_law,
)

N, ROWS, LIMIT = 12, 200_000, 4.5  # LIMIT in standard errors: some hundred comparisons
LINKS = ["tanh(z) + z/2", "relu(z - 0.3)", "sin"]
SLOPE = np.linspace(-0.2, 0.3, N)


@pytest.fixture(scope="module")
def components():
    """Return components whose means, levels and spikes correlate random directions."""
    first = Component(weight=0.6, mean=0.2 * np.ones(N), rank=2, label=1.0)
    second = Component(weight=0.4, level=0.5, rank=1, label=-1.0)
    source = MixtureSource(components=(first, second))
    return source.draw(N, 5.0, np.random.default_rng(1)).components


def drawn(combine, links=LINKS, noise=0.0, directions="random"):
    description = MultiIndex(
        links=links, combine=combine, noise=noise, norm=0.8, directions=directions
    )
    source = MixtureSource(components=(Component(rank=2),))
    population = source.draw(N, 1.0, np.random.default_rng(2))
    return description.draw(population, 1.0, np.random.default_rng(3))


TEACHERS = {
    "mean": drawn("mean", noise=0.3),
    "sum": drawn("sum"),
    "product": drawn("product", noise=0.3),
    "staircase": drawn("staircase"),
    "two links": drawn("product", links=LINKS[:2]),
    "residual of a mean": residual(drawn("mean", noise=0.3), 0.4, SLOPE),
    "residual of a staircase": residual(drawn("staircase", noise=0.3), -0.2, SLOPE),
    "residual of a residual": residual(residual(drawn("mean"), 0.4, SLOPE), 0.1, SLOPE**2),
    "residual of classes": residual(
        LabelTeacher(np.zeros((N, 0)), (1.0, -1.0), noise=0.2), 0.1, SLOPE
    ),
}


@pytest.mark.parametrize("name", TEACHERS)
def test_moments_are_those_of_sampled_labels(name, components):
    teacher = TEACHERS[name]
    control = []
    for index, gaussian in enumerate(components):
        inputs = gaussian.colour(np.random.default_rng(4).standard_normal((ROWS, N)))
        labels = teacher.labels(inputs @ teacher.directions, index, np.random.default_rng(5))
        centred = inputs if gaussian.mean is None else inputs - gaussian.mean
        mean, slope = teacher.linear_part(gaussian)
        values = [labels, labels**2, *(labels * centred[:, i] for i in range(4))]
        covariances = gaussian.covariance_times(teacher.directions) @ slope
        expected = [mean, teacher.second_moment(gaussian), *covariances[:4]]
        errors = [LIMIT * value.std() / np.sqrt(ROWS) for value in values]
        differences = [value.mean() - e for value, e in zip(values, expected, strict=True)]
        assert np.all(np.abs(differences) < errors)
        control += [abs(d + 0.1) / e for d, e in zip(differences, errors, strict=True)]
    assert np.mean(np.array(control) > 1) > 0.9  # the control: a tenth more would be seen


@pytest.mark.parametrize("combine", ["product", "staircase"])
def test_joint_coefficients_are_those_of_sampled_labels(combine, components):
    """c_α of the whitened projections up to degree 3, where directions are correlated."""
    teacher, gaussian = TEACHERS[combine], components[0]
    mean, factor = teacher.law(gaussian)
    assert np.max(np.abs(np.tril(factor, -1))) > 0.1
    white = np.random.default_rng(6).standard_normal((ROWS, 3))
    labels = teacher.labels(mean + white @ factor.T, 0, np.random.default_rng(7))
    basis = orthonormal_hermite(white, 3)
    indices = multi_indices(3, 3)
    coefficients = teacher.joint_coefficients(gaussian, indices)
    for alpha, coefficient in zip(indices, coefficients, strict=True):
        values = labels * np.prod([basis[a, :, j] for j, a in enumerate(alpha)], axis=0)
        assert abs(values.mean() - coefficient) < LIMIT * values.std() / np.sqrt(ROWS)
    assert np.ptp(coefficients) > 0.1  # and not because all of them vanish


@pytest.mark.parametrize("combine", ["product", "staircase"])
def test_integrating_together_gives_what_independent_directions_multiply_to(combine, monkeypatch):
    """On an isotropic component both ways apply; kinks and all."""
    teacher = TEACHERS[combine]
    gaussian = Gaussian(1.0, 0.3 * np.ones(N), 1.7, np.zeros((N, 0)), np.zeros(0))
    indices = multi_indices(3, 6)
    apart = teacher.joint_coefficients(gaussian, indices)
    power = teacher.second_moment(gaussian)
    monkeypatch.setattr(joint_teachers, "_is_diagonal", lambda factor: False)
    assert teacher.joint_coefficients(gaussian, indices) == pytest.approx(apart, abs=1e-11)
    assert teacher.second_moment(gaussian) == pytest.approx(power, rel=1e-11)


@pytest.mark.parametrize("correlation", [0.0, 0.4, -0.9])
def test_products_of_two_have_their_closed_forms(correlation):
    """E[relu(u) relu(v)] is the arc-cosine kernel, E[u²v²] = 1 + 2ρ²."""
    factor = np.array([[1.0, 0.0], [correlation, np.sqrt(1 - correlation**2)]])
    relu, square = functions.get("relu"), functions.get("z**2")
    exact = relu.pair(np.array(correlation), np.array(1.0), np.array(1.0))
    zero = np.zeros(2)
    assert product_coefficients([relu, relu], zero, factor, 0).item() == pytest.approx(exact)
    powers = product_coefficients([square, square], zero, factor, 0).item()
    assert powers == pytest.approx(1 + 2 * correlation**2)


def test_wide_directions_are_integrated_too():
    """tanh of deviation 30 is nearly a sign: E[sign u sign v] = (2/π) arcsin ρ, up to 1/30."""
    factor = 30 * np.array([[1.0, 0.0], [0.5, np.sqrt(0.75)]])
    tanh = functions.get("tanh")
    value = product_coefficients([tanh, tanh], np.zeros(2), factor, 0).item()
    assert value == pytest.approx(2 / np.pi * np.arcsin(0.5), abs=1e-2)
    swapped = product_coefficients([tanh, tanh], np.zeros(2), factor, 3)
    assert swapped[1, 0] == pytest.approx(0, abs=1e-12)  # odd in all


def test_a_mean_of_one_half_each_is_half_the_sum(components):
    """Weights of terms, and a quarter of the power."""
    mean, total = drawn("mean"), drawn("sum")
    gaussian = components[0]
    assert mean.second_moment(gaussian) == pytest.approx(total.second_moment(gaussian) / 9)
    assert mean.linear_part(gaussian)[1] == pytest.approx(total.linear_part(gaussian)[1] / 3)


def test_what_is_left_of_a_linear_label_is_its_noise(components):
    slope = SLOPE
    teacher = residual(IndexTeacher(slope[:, None], functions.get("identity"), 0.7), 0.0, slope)
    for gaussian in components:
        assert teacher.second_moment(gaussian) == pytest.approx(0.49)
        mean, q = teacher.linear_part(gaussian)
        assert mean == pytest.approx(0)
        assert teacher.directions @ q == pytest.approx(np.zeros(N))


def test_a_residual_without_slope_has_the_directions_that_it_had(components):
    teacher = IndexTeacher(SLOPE[:, None], functions.get("relu"), 0.1)
    left = residual(teacher, 0.3, np.zeros(N))
    gaussian = components[0]
    assert left.directions.shape == (N, 1)
    expected = projection_coefficients(teacher, gaussian, 3) - 0.3 * np.eye(4)[0]
    assert projection_coefficients(left, gaussian, 3) == pytest.approx(expected)
    law = projection_law(teacher.directions, gaussian)
    power = left.second_moment_at(*law)[0]
    assert power == pytest.approx(left.second_moment(gaussian))
    at = left.coefficients_at(*law, 3)[:, 0]
    assert at == pytest.approx(expected)
    assert left.link is None
    assert residual(teacher, 0.0, np.zeros(N)).link is teacher.link


def test_terms_of_nested_sums_are_flat():
    inner = drawn("mean")
    outer = TeacherSum((inner, inner), constant=1.0, divisor=2.0)
    assert [term.weight for term in outer.terms] == pytest.approx([1 / 6] * 6)
    assert [term.columns.start for term in outer.terms] == list(range(6))
    assert TeacherSum((outer,), constant=0.5).total_constant == 1.5


def nearly_parallel(link):
    """Return two teachers whose projections have correlation 0.9998 on an isotropic component."""
    near = np.eye(N)[:, :1] + 0.02 * np.eye(N)[:, 1:2]
    return [IndexTeacher(xi, functions.get(link)) for xi in (np.eye(N)[:, :1], near)]


def test_a_series_that_is_cut_too_early_says_so():
    gaussian = Gaussian(1.0, None, 9.0, np.zeros((N, 0)), np.zeros(0))
    with pytest.warns(UserWarning, match="orders leave a relative error"):
        product_moment(*nearly_parallel("tanh(9*z)"), gaussian)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exact = product_moment(*nearly_parallel("z**2"), gaussian)
    near = 1 + 0.02**2
    assert exact == pytest.approx(81 * (near + 2))


def test_what_has_no_exact_moments_is_refused_in_one_line(components):
    many = drawn("product", links=["z", "tanh", "z", "relu"])
    with pytest.raises(InvalidInput, match=r"teacher\.links: 4 directions that a component"):
        many.second_moment(components[0])
    isotropic = Gaussian(1.0, None, 1.0, np.zeros((N, 0)), np.zeros(0))
    assert many.second_moment(isotropic) > 0
    pair = TeacherSum((drawn("product"), IndexTeacher(SLOPE[:, None], functions.get("tanh"))))
    with pytest.raises(InvalidInput, match="linear or of one direction each"):
        pair.second_moment(isotropic)


def test_growing_links_have_no_finite_power(components):
    directions = 0.8 * np.eye(N)[:, :2]
    grows = (functions.get("z"), Function("grows", lambda z: np.exp(z**2)))
    for combine in ("product", "staircase"):
        assert not JointTeacher(directions, grows, combine).has_finite_power(components[0])
    parts = tuple(IndexTeacher(directions[:, :1], link) for link in grows)
    assert not TeacherSum(parts).has_finite_power(components[0])
    assert TEACHERS["sum"].has_finite_power(components[0])
