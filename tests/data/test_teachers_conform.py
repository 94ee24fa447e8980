"""What every teacher must satisfy: over all kinds, and one that is registered here."""

from typing import Literal

import numpy as np
import pytest
from pydantic import Field

from onegrad import (
    ClassLabels,
    Component,
    LogisticIndex,
    MixtureSource,
    MultiIndex,
    Problem,
    SignIndex,
    SingleIndex,
    register_teacher,
)
from onegrad.calculus import functions
from onegrad.calculus.function import orthonormal_hermite
from onegrad.data.teachers import (
    TEACHERS,
    IndexTeacher,
    TeacherDescription,
    projection_coefficients,
    reads_one_projection,
)
from onegrad.describe.value import NonNegative

N, ROWS, ORDER, LIMIT, NOISE = 12, 40_000, 4, 4.0, 0.5  # LIMIT in standard errors
BUILT_IN = [kind for kind in TEACHERS if TEACHERS.mark(kind) is None]


class FirstAxis(TeacherDescription):
    """y = x_1²/2 + noise·N(0, 1)."""

    kind: Literal["first_axis"] = Field(default="first_axis", description="Of the first input.")
    noise: NonNegative = Field(default=0.0, description="Deviation of label noise.")

    def draw(self, population, norm, rng):
        direction = np.eye(population.dimension)[:, :1]
        return IndexTeacher(direction, functions.get("z**2/2"), self.noise)


SEVERAL = {"links": ["tanh", "relu(z - 0.5)"], "norm": 0.8}
EXAMPLES = {
    "index": SingleIndex(link="tanh", norm=1.0),
    "labels": ClassLabels(),
    "indices": MultiIndex(**SEVERAL),
    "sum": MultiIndex(**SEVERAL, combine="sum", directions="spikes"),
    "product": MultiIndex(**SEVERAL, combine="product"),
    "staircase": MultiIndex(**SEVERAL, combine="staircase", directions="last_spikes"),
    "first_axis": FirstAxis(),
    "sign": SignIndex(flips=0.1, direction="spikes"),
    "logistic": LogisticIndex(slope=3.0, norm=0.7),
    "flipped": ClassLabels(flips=0.2),
}


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr(TEACHERS, "entries", dict(TEACHERS.entries))
    register_teacher(FirstAxis)


@pytest.fixture(params=EXAMPLES)
def description(request):
    return EXAMPLES[request.param]


@pytest.fixture(scope="module")
def source():
    first = Component(weight=0.6, mean=0.3 * np.ones(N), rank=2, label=1.0)
    second = Component(weight=0.4, level=0.5, rank=1, label=-1.0)
    return MixtureSource(components=(first, second))


@pytest.fixture(scope="module")
def population(source):
    return source.draw(N, 3.0, np.random.default_rng(1))


def noisy(description, noise):
    """Return the description with additive noise where it may have some."""
    if getattr(description, "noise", None) is None or getattr(description, "flips", 0):
        return description
    return description.replace(noise=noise)


def drawn(description, population):
    return description.draw(population, population.norm, np.random.default_rng(2))


def labelled(teacher, population, component, seed=3):
    """Return inputs of one component, and their labels."""
    noise = np.random.default_rng(seed).standard_normal((ROWS, N))
    inputs = population.components[component].colour(noise)
    projections = inputs @ teacher.directions
    return inputs, teacher.labels(projections, component, np.random.default_rng(seed + 1))


def low_degrees(teacher, gaussian):
    """Return E[y H_l]/√l! for one direction, else E[y] alone."""
    if reads_one_projection(teacher):
        return projection_coefficients(teacher, gaussian, ORDER)
    return teacher.linear_part(gaussian)[:1]


def test_every_kind_has_an_example():
    assert set(BUILT_IN) <= set(EXAMPLES)


def test_a_drawn_teacher_follows_its_generator_and_reads_its_directions(description, population):
    teacher, again = drawn(description, population), drawn(description, population)
    assert teacher.directions.shape[0] == N
    assert np.array_equal(teacher.directions, again.directions)
    _, labels = labelled(teacher, population, 0)
    assert labels.shape == (ROWS,)
    assert np.all(np.isfinite(labels))


@pytest.mark.parametrize("noise", [0.0, NOISE])
def test_moments_are_those_of_sampled_labels(description, population, noise):
    """E y², E[y H_l(v)]/√l! of the standardised projection v, and Cov(y, cᵀx), per component."""
    teacher = drawn(noisy(description, noise), population)
    worst = []
    for component, gaussian in enumerate(population.components):
        inputs, labels = labelled(teacher, population, component)
        assert teacher.has_finite_power(gaussian)
        centred = inputs if gaussian.mean is None else inputs - gaussian.mean
        one = reads_one_projection(teacher)
        variance = gaussian.projected_variance(teacher.directions)
        deviation = np.sqrt(variance) if one else 1.0
        v = centred @ (teacher.directions[:, 0] if one else np.zeros(N)) / deviation
        values = [labels**2, *(labels * orthonormal_hermite(v, ORDER if one else 0))]
        expected = [teacher.second_moment(gaussian), *low_degrees(teacher, gaussian)]
        mean, slope = teacher.linear_part(gaussian)
        assert mean == pytest.approx(expected[1], abs=1e-12)
        for c in (np.eye(N)[0], teacher.directions.sum(axis=1)):
            values.append(labels * (centred @ c))
            expected.append(c @ gaussian.covariance_times(teacher.directions) @ slope)
        for value, expectation in zip(values, expected, strict=True):
            error = LIMIT * value.std() / np.sqrt(ROWS) + 1e-12
            assert abs(value.mean() - expectation) < error
            worst.append(abs(value.mean() - expectation - 0.1) / error)
    assert max(worst) > 1  # the control: a tenth more would be seen


def test_label_noise_adds_its_variance_and_nothing_else(description, population):
    """The sampled variance of normal noise errs by a share of √(2/ROWS)."""
    clean, other = (drawn(noisy(description, noise), population) for noise in (0.0, NOISE))
    if noisy(description, NOISE) == description:
        assert (clean.noise, other.noise) == (0, 0)
        return
    assert (clean.noise, other.noise) == (0, NOISE)
    gaussian = population.components[0]
    added = other.second_moment(gaussian) - clean.second_moment(gaussian)
    assert added == pytest.approx(NOISE**2)
    assert low_degrees(other, gaussian) == pytest.approx(low_degrees(clean, gaussian))
    difference = labelled(other, population, 0)[1] - labelled(clean, population, 0)[1]
    assert abs(difference.mean()) < LIMIT * NOISE / np.sqrt(ROWS)
    assert difference.var() == pytest.approx(NOISE**2, rel=LIMIT * np.sqrt(2 / ROWS))
    assert difference.var() != pytest.approx(1.1 * NOISE**2, rel=LIMIT * np.sqrt(2 / ROWS))


def test_moments_at_a_projection_are_those_of_the_component(description, population):
    teacher = drawn(noisy(description, NOISE), population)
    gaussian = population.components[1]
    if not reads_one_projection(teacher):
        return
    deviation = np.sqrt([gaussian.projected_variance(teacher.directions)])
    at = teacher.coefficients_at(np.zeros(1), deviation, ORDER)[:, 0]
    expected = projection_coefficients(teacher, gaussian, ORDER)
    assert at == pytest.approx(expected, abs=1e-12)
    power = teacher.second_moment_at(np.zeros(1), deviation)[0]
    assert power == pytest.approx(teacher.second_moment(gaussian))


def test_a_problem_of_the_teacher_survives_its_file(description, source, tmp_path):
    problem = Problem(
        dimension=N, readout={"samples": 20}, data=source, teacher=noisy(description, 0.1)
    )
    problem.save(tmp_path / "p.toml")
    loaded = Problem.load(tmp_path / "p.toml")
    assert loaded == problem
    assert loaded.digest == problem.digest
    assert type(loaded.teacher) is type(description)
    kinds = Problem.model_json_schema()["properties"]["teacher"]["oneOf"]
    assert description.kind in [kind["properties"]["kind"]["default"] for kind in kinds]
