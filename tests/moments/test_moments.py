"""Exact test errors: against dense series, against sampled points, and where they must differ."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from conftest import small
from onegrad.core.errors import measure_errors, sampled_errors
from onegrad.core.model_names import resolve_models
from onegrad.core.problem_readout import fit_models
from onegrad.core.streams import Streams
from onegrad.core.trial import run_trial
from onegrad.data.teachers import projection_coefficients, reads_one_projection
from onegrad.moments import pairs
from onegrad.moments.exact_errors import exact_test_mse
from onegrad.moments.feature_laws import preactivation_laws
from theory_cases import train_first_layer

ALL_MODELS = ["network", "hermite:3", "linear", "conditional"]


def dense_test_mse(instance, first, model_map, weights, orders=150):
    """The definition, with every matrix k×k and every series long."""
    k = len(first)
    total = model_map.noise_variance * weights @ weights / k
    for law in preactivation_laws(instance.mixture, instance.teacher, first):
        a = model_map.coefficients(law, orders)
        loadings = law.loadings
        covariance = law.gaussian.level * first @ first.T + loadings @ loadings.T
        correlation = covariance / np.outer(law.deviations, law.deviations)
        omega = np.zeros((k, k))
        for coefficients in a[::-1]:  # Horner in the correlation
            omega *= correlation
            omega += np.outer(coefficients, coefficients)
        np.fill_diagonal(omega, model_map.second_moment(law))
        if reads_one_projection(instance.teacher):
            g = projection_coefficients(instance.teacher, law.gaussian, orders)
        else:
            g = instance.teacher.linear_part(law.gaussian)[0] * np.eye(1, orders + 1)[0]
        cov = law.target
        r = cov[:, 0] / law.deviations if cov.shape[1] else np.zeros(k)
        psi = sum(a[q] * g[q] * r**q for q in range(orders + 1))
        error = instance.teacher.second_moment(law.gaussian) - 2 * weights @ psi / np.sqrt(k)
        total += law.gaussian.weight * (error + weights @ omega @ weights / k)
    return total


@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid", "sin"])
@pytest.mark.parametrize("task", ["index", "labels"])
@pytest.mark.parametrize("source", ["plain", "rich"])
def test_exact_error_equals_the_dense_definition(activation, task, source, rich_source, rng):
    changes = {"data": rich_source} if source == "rich" else {}
    problem = small(network__width=70, network__activation=activation, **changes)
    if task == "labels":
        problem = problem.replace(teacher={"kind": "labels", "noise": 0.1})
    instance, layers, first = train_first_layer(problem)
    models = resolve_models(problem, ["network", "hermite:3"])
    weights = rng.standard_normal((70, 2))
    maps = [m.feature_map(instance, layers, first) for m in models]
    exact = exact_test_mse(
        instance.mixture,
        instance.teacher,
        first,
        models=[(feature_map, weights) for feature_map in maps],
    )
    for feature_map, values in zip(maps, exact, strict=True):
        for column in range(2):
            dense = dense_test_mse(instance, first, feature_map, weights[:, column])
            assert values[column] == pytest.approx(dense, rel=1e-6)


def test_blocks_of_neurons_add_up_for_widths_beyond_one_tile(rng, monkeypatch):
    """Tiles of 64 neurons in place of 1024: two whole ones and a part, as at a width of 2200."""
    for name, size in (("TILE", 64), ("ROWS", 16), ("COLUMNS", 32)):
        monkeypatch.setattr(pairs, name, size)
    width = 2 * 64 + 9
    problem = small(network__width=width, network__activation="tanh")
    instance, layers, first = train_first_layer(problem)
    feature_map = resolve_models(problem, ["network"])[0].feature_map(instance, layers, first)
    weights = rng.standard_normal((width, 1))
    exact = exact_test_mse(
        instance.mixture, instance.teacher, first, models=[(feature_map, weights)]
    )[0]
    dense = dense_test_mse(instance, first, feature_map, weights[:, 0])
    assert exact[0] == pytest.approx(dense, rel=1e-6)


@pytest.mark.parametrize("activation", ["relu", "erf"])
def test_closed_pair_forms_serve_almost_parallel_neurons(activation, rng):
    problem = small(network__activation=activation, data={"components": [{"weight": 1.0}]})
    instance, layers, first = train_first_layer(problem)
    first = first.copy()
    first[1] = first[0] * 1.3  # correlation 1: the series alone would not converge
    feature_map = resolve_models(problem, ["network"])[0].feature_map(instance, layers, first)
    weights = rng.standard_normal((30, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exact = exact_test_mse(
            instance.mixture, instance.teacher, first, models=[(feature_map, weights)]
        )[0]
    dense = dense_test_mse(
        instance, first, feature_map, weights[:, 0], orders=2000 if activation == "relu" else 400
    )
    assert exact[0] == pytest.approx(dense, rel=1e-4 if activation == "relu" else 1e-6)


def test_a_series_cut_short_warns(rng):
    problem = small(network__activation="tanh", scaling={"learning_rate": 0.0, "spread": 200.0})
    instance, layers, first = train_first_layer(problem)
    first = first.copy()
    first[1] = first[0] * 20
    first[0] *= 20
    feature_map = resolve_models(problem, ["network"])[0].feature_map(instance, layers, first)
    with pytest.warns(UserWarning, match="almost parallel"):
        exact_test_mse(
            instance.mixture,
            instance.teacher,
            first,
            models=[(feature_map, rng.standard_normal((30, 1)))],
        )


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("task", ["index", "labels"])
@pytest.mark.parametrize("source", ["plain", "rich"])
def test_exact_and_sampled_errors_agree_within_sampling_error(
    activation, task, source, rich_source
):
    """Paired: both see the same readouts, three of them, only the test points are random."""
    changes = {"data": rich_source} if source == "rich" else {}
    problem = small(
        network__activation=activation, teacher={"kind": task}, test_samples=2000, **changes
    )
    models = resolve_models(problem, ALL_MODELS)
    differences, means = [], []
    for trial in range(3):
        instance, layers, first = train_first_layer(problem, trial=trial)
        maps = {m.key: m.feature_map(instance, layers, first) for m in models}
        fits = fit_models(instance, first, maps)
        exact = measure_errors(instance, first, maps, fits)
        means.append([exact[m.key]["test_mse"][0] for m in models])
        for redraw in range(4):
            elsewhere = replace(instance, streams=Streams(1, 4 * trial + redraw))
            sampled = sampled_errors(elsewhere, first, maps, fits)
            values = [sampled[m.key]["test_mse"][0] for m in models]
            differences.append(np.array(values) - means[-1])
    differences = np.array(differences)
    stderr = differences.std(axis=0, ddof=1) / np.sqrt(12)
    assert np.all(np.abs(differences.mean(axis=0)) < 4.5 * stderr)
    # Negative control: a tenth more error would be seen.
    wrong = differences.mean(axis=0) + 0.1 * np.mean(means, axis=0)
    assert np.all(np.abs(wrong) > 4.5 * stderr)


def test_a_teacher_that_the_features_contain_is_learnt_to_nothing():
    """Known answer: linear teacher, linear network, no noise, more samples than dimensions."""
    problem = small(
        readout__samples=200,
        network__width=80,
        network__activation="identity",
        teacher={"link": "identity"},
        readout__ridge=1e-12,
    )
    result = run_trial(problem, resolve_models(problem, ["network"]))["network"]
    assert -1e-10 < result["test_mse"][0] < 1e-8
    assert result["train_mse"][0] < 1e-8


def test_zero_readout_leaves_the_labels_second_moment():
    problem = small(teacher={"link": "relu", "norm": 1.0, "noise": 0.5})
    instance, layers, first = train_first_layer(problem)
    feature_map = resolve_models(problem, ["network"])[0].feature_map(instance, layers, first)
    value = exact_test_mse(
        instance.mixture, instance.teacher, first, models=[(feature_map, np.zeros((30, 1)))]
    )[0][0]
    xi = instance.teacher.directions
    expected = 0.25  # noise; ReLU of a centred Gaussian: half its variance
    for component in instance.mixture.components:
        expected += 0.5 * component.weight * float((xi.T @ component.covariance_times(xi))[0, 0])
    assert value == pytest.approx(expected)
