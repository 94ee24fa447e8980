"""E[φy] for teachers of several directions: against samples, and through `simulate`, `predict`."""

import warnings

import numpy as np
import pytest

from onegrad import Component, InvalidInput, MixtureSource, MultiIndex, Problem, predict, simulate
from onegrad.calculus import functions
from onegrad.calculus.expectations import expand
from onegrad.core.models import HermiteMap, NetworkMap
from onegrad.data.joint_teachers import residual
from onegrad.data.teachers import IndexTeacher, LabelTeacher
from onegrad.moments import label_moments as joint_series
from onegrad.moments.feature_laws import Points, preactivation_laws
from onegrad.moments.label_moments import label_moments

N, K, ROWS, LIMIT = 12, 10, 200_000, 4.5  # LIMIT in standard errors: some hundred comparisons
LINKS = ["tanh(z) + z/2", "relu(z - 0.3)", "sin"]
SLOPE = np.linspace(-0.2, 0.3, N)
TWO = {"kind": "indices", "links": ["z+z**2", "z-z**2"]}


@pytest.fixture(scope="module")
def mixture():
    """Return a mixture whose means, levels and spikes correlate random directions."""
    first = Component(weight=0.6, mean=0.2 * np.ones(N), rank=2, label=1.0)
    second = Component(weight=0.4, level=0.5, rank=1, label=-1.0)
    return MixtureSource(components=(first, second)).draw(N, 5.0, np.random.default_rng(1))


def drawn(mixture, **fields):
    description = MultiIndex(**({"links": LINKS, "norm": 0.8} | fields))
    return description.draw(mixture, 1.0, np.random.default_rng(3))


def teacher_of(name, mixture):
    if name == "residual of classes":
        classes = LabelTeacher(np.zeros((N, 0)), (1.0, -1.0))
        return residual(classes, 0.1, SLOPE)
    combine = name.removeprefix("residual of a ")
    teacher = drawn(mixture, combine=combine, noise=0.2)
    return teacher if combine == name else residual(teacher, 0.4, SLOPE)


NAMES = [
    "mean",
    "sum",
    "product",
    "staircase",
    "residual of a mean",
    "residual of a staircase",
    "residual of classes",
]


def tilted_layer(teacher):
    """Return neurons of which some lean towards the teacher's directions."""
    rng = np.random.default_rng(2)
    layer = 0.5 * rng.standard_normal((K, N)) / np.sqrt(N)
    return layer + 0.3 * rng.standard_normal((K, teacher.directions.shape[1])) @ (
        teacher.directions.T
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("model", ["network", "hermite"])
def test_label_moments_are_those_of_samples(name, model, mixture):
    teacher = teacher_of(name, mixture)
    layer = tilted_layer(teacher)
    feature_map = NetworkMap(functions.get("tanh"))
    if model == "hermite":
        feature_map = HermiteMap(expand(functions.get("tanh"), 1.0, degree=3))
    control = []
    for law in preactivation_laws(mixture, teacher, layer):
        inputs = law.gaussian.colour(np.random.default_rng(4).standard_normal((ROWS, N)))
        rng = np.random.default_rng(5)
        labels = teacher.labels(inputs @ teacher.directions, law.component, rng)
        points = Points(law.component, inputs @ layer.T)
        values = np.stack(
            [
                feature_map.predictions(points, np.eye(K)[:, i : i + 1])[0][:, 0] * np.sqrt(K)
                for i in range(K)
            ]
        )
        products = values * labels
        errors = LIMIT * products.std(axis=1) / np.sqrt(ROWS)
        differences = products.mean(axis=1) - label_moments(feature_map, law, layer, teacher)
        assert np.all(np.abs(differences) < errors)
        control += list(np.abs(differences + 0.1) / errors)
    assert np.mean(np.array(control) > 1) > 0.9  # the control: a tenth more would be seen


@pytest.mark.parametrize("links", [["z**2 + z", "z - 1"], ["tanh", "z**3", "z + 2"]])
def test_a_product_of_independent_directions_is_what_one_function_of_one_of_them_says(links):
    """With neurons along the first direction alone, the others are a constant factor."""
    description = MultiIndex(links=links, combine="product", directions=np.eye(N)[:, : len(links)])
    mixture = MixtureSource(components=(Component(rank=0),)).draw(N, 1.0, np.random.default_rng(0))
    teacher = description.draw(mixture, 1.0, np.random.default_rng(0))
    layer = np.linspace(0.3, 1.2, K)[:, None] * (0.8 * np.eye(N)[0] + 0.6 * np.eye(N)[-1])
    feature_map = NetworkMap(functions.get("sigmoid"))
    (law,) = preactivation_laws(mixture, teacher, layer)
    joint = label_moments(feature_map, law, layer, teacher)
    alone = IndexTeacher(np.eye(N)[:, :1], functions.get(links[0]))
    (law,) = preactivation_laws(mixture, alone, layer)
    factor = np.prod(
        [
            IndexTeacher(np.eye(N)[:, :1], functions.get(link)).linear_part(law.gaussian)[0]
            for link in links[1:]
        ]
    )
    expected = factor * label_moments(feature_map, law, layer, alone)
    assert joint == pytest.approx(expected, rel=1e-8)


def test_too_low_a_degree_is_noticed(mixture, monkeypatch):
    """The bound on what is left out: it warns where it must, and degrees do matter."""
    teacher = drawn(mixture, combine="product")
    layer = 3 * tilted_layer(teacher)
    feature_map = NetworkMap(functions.get("tanh"))
    law = preactivation_laws(mixture, teacher, layer)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exact = label_moments(feature_map, law, layer, teacher)
    monkeypatch.setattr(joint_series, "MOST_INDICES", 10)
    with pytest.warns(UserWarning, match="degrees up to 2 leave a relative error up to 0"):
        cut = label_moments(feature_map, law, layer, teacher)
    assert np.max(np.abs(cut - exact)) > 1e-3


def test_a_direction_without_variance_has_no_correlation():
    mixture = MixtureSource(components=(Component(rank=0),)).draw(N, 1.0, np.random.default_rng(0))
    teacher = IndexTeacher(np.zeros((N, 1)), functions.get("z + 2"))
    layer = tilted_layer(teacher)
    (law,) = preactivation_laws(mixture, teacher, layer)
    assert np.all(law.target == 0)
    feature_map = NetworkMap(functions.get("relu"))
    moments = label_moments(feature_map, law, layer, teacher)
    assert moments == pytest.approx(2 * feature_map.coefficients(law, 0)[0])


@pytest.mark.parametrize(
    ("teacher", "models"),
    [
        (TWO, ["network", "hermite:3", "conditional"]),
        ({**TWO, "combine": "product", "directions": "spikes"}, ["network", "hermite:3"]),
        ({**TWO, "links": ["z", "tanh", "relu"], "combine": "staircase"}, ["network"]),
    ],
)
def test_exact_test_errors_are_those_of_many_points(teacher, models):
    """Paired by trial; the points of a trial are independent of the others'."""
    problem = Problem(
        dimension=60,
        readout={"samples": 80},
        network={"width": 50},
        data=MixtureSource(),
        teacher=teacher,
        test_samples=20_000,
    )
    exact = simulate(problem, models, trials=8)
    sampled = simulate(problem.replace(test="sampled"), models, trials=8)
    differences = sampled.metrics["test_mse"] - exact.metrics["test_mse"]
    errors = 4.5 * differences.std(axis=0, ddof=1) / np.sqrt(len(differences))
    assert np.all(np.abs(differences.mean(axis=0)) < errors)
    shifted = differences.mean(axis=0) - 0.1 * exact.estimate().mean
    assert np.all(np.abs(shifted) > errors)  # the control: a tenth of the error would be seen


@pytest.mark.parametrize("combine", ["mean", "product"])
def test_theory_is_what_networks_do(combine):
    """Paired draws at n = 60: 4 standard errors, and C/n with C = 6 as in the tests of theory."""
    problem = Problem(
        dimension=60,
        readout={"samples": 80, "ridge": 1e-2},
        network={"width": 50},
        teacher={**TWO, "combine": combine},
    )
    trained = simulate(problem, "network", trials=16).estimate()
    theory = predict(problem, "network", draws=16).estimate()
    mean = trained.mean[0, 0]
    error = 4 * trained.stderr[0, 0] + 6 / 60 * mean
    assert abs(theory.mean[0, 0] - mean) < error
    shifted = predict(problem.replace(teacher__noise=float(np.sqrt(3 * error))), "network", draws=4)
    assert abs(shifted.estimate().mean[0, 0] - mean) > error  # the control: more noise is seen


def test_what_does_not_know_several_directions_says_so():
    problem = Problem(dimension=40, readout={"samples": 50}, network={"width": 30}, teacher=TWO)
    product = problem.replace(teacher__combine="product")
    with pytest.raises(InvalidInput, match="models='conditional': its exact test errors know"):
        simulate(product, "conditional", trials=1)
    simulate(product.replace(test="sampled"), "conditional", trials=1)
