"""Equivalent models: they match the network where the theory says so, and fail where it says so."""

import numpy as np
import pytest

from conftest import small
from onegrad import InvalidInput, Problem, resolve_models, run_trial, simulate
from onegrad.equivalents import parse_model


def test_names_resolve_to_models():
    assert parse_model("hermite", default_degree=3).degree == 3
    assert parse_model("hermite:2", default_degree=3).degree == 2
    assert (
        parse_model("linear", default_degree=3).key
        == parse_model("hermite:1", default_degree=3).key
    )
    with pytest.raises(InvalidInput, match="did you mean 'network'"):
        parse_model("netwrk", default_degree=3)


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
    """Features drawn for training and moments used for testing belong to the same model."""
    from onegrad import activations as act
    from onegrad import draw, feature_map, gradient_step, initialise

    problem = small(network__width=12, samples=60_000, network__activation="tanh")
    instance = draw(problem)
    layers, batch = initialise(instance), instance.step_batch()
    first = gradient_step(
        layers,
        batch.inputs,
        batch.labels,
        activation=act.get("tanh"),
        learning_rate=instance.scales.learning_rate,
    )
    one = feature_map(resolve_models(problem, ["conditional"])[0], instance, layers, first)
    train = instance.training_batch()
    rows = slice(0, train.counts[0])
    inputs = train.inputs[rows]
    phi = one.features(inputs @ first.T, inputs @ one.basis(0), 0, np.random.default_rng(1))
    from onegrad.laws import preactivation_laws

    law = preactivation_laws(instance.mixture, instance.teacher, first)[0]
    mean, second = one.coefficients(law, 0)[0], one.second_moment(law)
    z_mean = (phi.mean(axis=0) - mean) / (phi.std(axis=0) / np.sqrt(len(phi)))
    z_second = ((phi**2).mean(axis=0) - second) / ((phi**2).std(axis=0) / np.sqrt(len(phi)))
    assert np.abs(z_mean).max() < 4.5
    assert np.abs(z_second).max() < 4.5
    assert np.abs(z_mean + 0.1 * phi.std(axis=0).min() * np.sqrt(len(phi))).max() > 4.5


def test_hermite_matches_and_too_low_a_degree_fails():
    """β = .74, α = 0, ξ along the spikes, where the degree matters most."""
    problem = Problem(
        dimension=300,
        samples=300,
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
