"""Equivalent models: they match the network where the theory says so, and fail where it says so."""

from math import comb

import numpy as np
import pytest

from conftest import small
from onegrad import InvalidInput, Problem, simulate
from onegrad.core.instance import draw
from onegrad.core.model_names import parse_model, resolve_models
from onegrad.core.run import finished_run
from onegrad.core.trial import run_trial
from onegrad.moments.exact_errors import exact_test_mse
from onegrad.moments.feature_laws import Points, preactivation_laws


def test_names_resolve_to_models():
    assert parse_model("hermite", theorem_degree=3).degree == 3
    assert parse_model("hermite:2", theorem_degree=3).degree == 2
    assert (
        parse_model("linear", theorem_degree=3).key
        == parse_model("hermite:1", theorem_degree=3).key
    )
    with pytest.raises(InvalidInput, match="did you mean 'network'"):
        parse_model("netwrk", theorem_degree=3)


def test_default_degree_comes_from_the_strength():
    for strength, degree in ((0.3, 1), (0.6, 2), (0.74, 3)):
        model = resolve_models(small(scaling={"strength": strength}), ["hermite"])[0]
        assert model.degree == degree


def test_given_rates_imply_a_strength():
    problem = small(scaling={"learning_rate": 1.0, "spread": 40.0})
    assert resolve_models(problem, ["hermite"])[0].degree == 4  # log‖Σ‖/log n ≈ 0.83


@pytest.mark.parametrize("source", ["plain", "rich"])
@pytest.mark.parametrize("activation", ["relu", "tanh", "softplus"])
def test_a_models_numbers_do_not_depend_on_the_others(source, activation, rich_source):
    changes = {"data": rich_source} if source == "rich" else {}
    problem = small(network__activation=activation, teacher={"kind": "labels"}, **changes)
    names = ["network", "hermite:2", "hermite:3", "linear", "conditional", "untrained"]
    together = run_trial(problem, resolve_models(problem, names))
    backwards = run_trial(problem, resolve_models(problem, names[::-1]))
    for name in names:
        alone = run_trial(problem, resolve_models(problem, [name]))
        for metric, value in together[name].items():
            assert np.array_equal(value, alone[name][metric]), (name, metric)
            assert np.array_equal(value, backwards[name][metric]), (name, metric)


def test_linear_and_hermite_of_degree_one_are_the_same_numbers():
    problem = small()
    result = run_trial(problem, resolve_models(problem, ["linear", "hermite:1"]))
    assert result["linear"]["test_mse"] == result["hermite:1"]["test_mse"]


def test_a_degree_above_the_theorems_warns():
    with pytest.warns(UserWarning, match="hermite:6: the theorem asks for degree 3"):
        simulate(small(), ["hermite:6"], trials=1)


def test_without_a_step_the_network_is_the_untrained_one():
    problem = small(scaling={"learning_rate": 0.0, "spread": 3.0})
    result = run_trial(problem, resolve_models(problem, ["network", "untrained"]))
    np.testing.assert_allclose(
        result["network"]["test_mse"], result["untrained"]["test_mse"], rtol=1e-12
    )
    stepped = run_trial(small(), resolve_models(small(), ["network", "untrained"]))
    assert stepped["network"]["test_mse"] != stepped["untrained"]["test_mse"]


def test_a_polynomial_network_is_its_own_hermite_model():
    problem = small(network__activation="hermite:2")
    result = run_trial(problem, resolve_models(problem, ["network", "hermite:2", "linear"]))
    np.testing.assert_allclose(
        result["network"]["test_mse"], result["hermite:2"]["test_mse"], rtol=1e-4
    )
    assert abs(result["linear"]["test_mse"] / result["network"]["test_mse"] - 1) > 0.05


def test_conditional_features_have_the_moments_that_the_exact_error_assumes():
    """Features drawn for training and moments used for testing belong to the same model.

    All means and products of pairs, in both components; the products see the model's R^{∘2}.
    """
    problem = small(
        dimension=12,
        network__width=10,
        readout__samples=200_000,
        network__activation="softplus",
        scaling={"strength": 0.74, "weighting": 0.5},
    )
    instance = draw(problem)
    run = finished_run(instance)
    layers, first = run.layers, run.first
    feature_map = resolve_models(problem, ["conditional"])[0].feature_map(instance, layers, first)
    train, rng = instance.training_batch(), np.random.default_rng(1)
    laws = preactivation_laws(instance.mixture, instance.teacher, first)
    for (component, rows), law in zip(train.components(), laws, strict=True):
        inputs = train.inputs[rows]
        basis = feature_map.basis(component)
        phi = feature_map.features(Points(component, inputs @ first.T, inputs @ basis), rng)
        expected = conditional_pairs(feature_map, law, first, basis)
        np.fill_diagonal(expected, feature_map.second_moment(law))
        products = phi.T @ phi / len(phi)
        squares = (phi**2).T @ phi**2 / len(phi)
        stderr = np.sqrt((squares - products**2) / len(phi))
        z = (products - expected) / stderr
        assert np.abs(z).max() < 4.5
        # Negative control: without degree 2 off the diagonal the products would be wrong.
        a = feature_map.coefficients(law, 2)
        correlation = (first @ first.T * law.gaussian.level + law.loadings @ law.loadings.T) / (
            np.outer(law.deviations, law.deviations)
        )
        without = expected - np.outer(a[2], a[2]) * correlation**2
        off = ~np.eye(10, dtype=bool)
        assert np.abs((products - without) / stderr)[off].max() > 4.5


def conditional_pairs(feature_map, law, first, basis, orders=60):
    """E[φ̂_i φ̂_j] by the formula of docs/equations.md, every matrix dense."""
    variances = np.diag(basis.T @ law.gaussian.covariance_times(basis))
    loadings = (first @ basis) * np.sqrt(variances)
    scale = np.outer(law.deviations, law.deviations)
    rho = loadings @ loadings.T / scale
    beta = (law.gaussian.level * first @ first.T + law.loadings @ law.loadings.T) / scale - rho
    a = feature_map.coefficients(law, orders)
    total = np.zeros_like(rho)
    for order in range(orders + 1):
        kept = sum(comb(order, q) * rho ** (order - q) * beta**q for q in range(min(order, 2) + 1))
        total += np.outer(a[order], a[order]) * kept
    return total


@pytest.mark.parametrize("activation", ["relu", "tanh", "softplus"])
def test_exact_conditional_error_equals_the_dense_definition(activation, rng):
    problem = small(
        network__activation=activation,
        network__width=60,
        teacher={"kind": "labels"},
        scaling={"strength": 1.0, "weighting": 0.3},
    )
    instance = draw(problem)
    run = finished_run(instance)
    layers, first = run.layers, run.first
    feature_map = resolve_models(problem, ["conditional"])[0].feature_map(instance, layers, first)
    w = rng.standard_normal(60)
    total = 0.0
    for law in preactivation_laws(instance.mixture, instance.teacher, first):
        omega = conditional_pairs(
            feature_map, law, first, feature_map.basis(law.component), orders=180
        )
        np.fill_diagonal(omega, feature_map.second_moment(law))
        label = law.gaussian.label
        error = (
            1
            - 2 * label * w @ feature_map.coefficients(law, 0)[0] / np.sqrt(60)
            + w @ omega @ w / 60
        )
        total += law.gaussian.weight * error
    exact = exact_test_mse(
        instance.mixture, instance.teacher, first, models=[(feature_map, w[:, None])]
    )[0][0]
    assert exact == pytest.approx(total, rel=1e-6)


def test_hermite_matches_and_too_low_a_degree_fails():
    """β = .74, α = 0, ξ along the spikes, where the degree matters most."""
    problem = Problem(
        dimension=300,
        readout={"samples": 300},
        scaling={"strength": 0.74, "weighting": 0.0},
        teacher={"direction": "spikes"},
    )
    errors = simulate(problem, ["network", "hermite:2", "linear"], trials=6)
    gap = errors.gap()
    assert abs(gap.mean[1, 0]) < 0.05 + 4 * gap.stderr[1, 0]
    assert gap.mean[2, 0] > 0.5 + 4 * gap.stderr[2, 0]


@pytest.mark.slow
def test_gaps_at_full_size_are_below_their_targets():
    """n = m = k = 1000, β = .74, α = .5: degree 3 within 1 %, conditional within 3 %."""
    errors = simulate(Problem(), ["network", "hermite:3", "conditional"], trials=20, workers=2)
    gap = errors.gap()
    assert abs(gap.mean[1, 0]) < 0.01
    assert abs(gap.mean[2, 0]) < 0.03


@pytest.mark.slow
def test_the_linear_model_fails_at_strong_spread_along_the_spikes():
    """Negative control at full size: β = .9, α = 0, ξ along the spikes."""
    problem = Problem(scaling={"strength": 0.9, "weighting": 0.0}, teacher={"direction": "spikes"})
    gap = simulate(problem, ["network", "linear"], trials=4, workers=2).gap()
    assert gap.mean[1, 0] > 0.5 + 4 * gap.stderr[1, 0]
