"""Ridge regression: identities, invariances and a known answer."""

import numpy as np
import pytest

from onegrad import InvalidInput
from onegrad.core.readout import ridge_readout
from onegrad.stages import fit_readout


def direct(features, labels, ridge):
    m, k = features.shape
    phi = features / np.sqrt(k)
    return np.linalg.solve(phi.T @ phi / m + ridge * np.eye(k), phi.T @ labels / m)


@pytest.mark.parametrize("shape", [(30, 12), (12, 30), (20, 20)])
def test_primal_and_dual_equal_the_normal_equations(shape, rng):
    features, labels = rng.standard_normal(shape), rng.standard_normal(shape[0])
    readout = fit_readout(features, labels, ridge=1e-2)
    expected = direct(features, labels, 1e-2)
    np.testing.assert_allclose(readout.weights[:, 0], expected, atol=1e-10)
    residual = labels - features @ expected / np.sqrt(shape[1])
    assert readout.train_mse[0] == pytest.approx(np.mean(residual**2))
    objective = 0.5 * np.mean(residual**2) + 0.5 * 1e-2 * expected @ expected
    assert readout.objective[0] == pytest.approx(objective)


@pytest.mark.parametrize("shape", [(30, 12), (12, 30)])
def test_one_factorisation_serves_all_penalties(shape, rng):
    features, labels = rng.standard_normal(shape), rng.standard_normal(shape[0])
    together = fit_readout(features, labels, ridge=[1e-3, 0.1, 10.0])
    for i, ridge in enumerate([1e-3, 0.1, 10.0]):
        alone = fit_readout(features, labels, ridge=ridge)
        np.testing.assert_allclose(together.weights[:, i], alone.weights[:, 0], rtol=1e-8)


def test_duplicated_samples_change_nothing(rng):
    features, labels = rng.standard_normal((15, 8)), rng.standard_normal(15)
    once = fit_readout(features, labels, ridge=0.1)
    twice = fit_readout(np.tile(features, (2, 1)), np.tile(labels, 2), ridge=0.1)
    np.testing.assert_allclose(once.weights, twice.weights, atol=1e-12)


def test_scaled_features_with_scaled_penalty_predict_the_same(rng):
    features, labels = rng.standard_normal((15, 8)), rng.standard_normal(15)
    plain = fit_readout(features, labels, ridge=0.1)
    scaled = fit_readout(3 * features, labels, ridge=0.9)
    np.testing.assert_allclose(plain.weights, 3 * scaled.weights, atol=1e-12)


def test_one_feature_has_the_textbook_answer():
    # ŵ = (1/m)Σφy / ((1/m)Σφ² + λ) = 2/(2.5 + 0.5)
    readout = fit_readout(np.array([[1.0], [2.0]]), np.array([0.0, 2.0]), ridge=0.5)
    assert readout.weights[0, 0] == pytest.approx(2 / 3)


def test_single_precision_features_are_solved_in_double(rng):
    features, labels = rng.standard_normal((30, 12)), rng.standard_normal(30)
    readout = fit_readout(features.astype(np.float32), labels, ridge=1e-4)
    assert readout.weights.dtype == np.float64
    np.testing.assert_allclose(readout.weights[:, 0], direct(features, labels, 1e-4), atol=1e-5)


@pytest.mark.parametrize("shape", [(90, 60), (60, 90)], ids=["primal", "dual"])
def test_refinement_of_a_single_precision_factor_reaches_double(rng, monkeypatch, shape):
    features = np.maximum(rng.standard_normal(shape), 0).astype(np.float32)
    labels = rng.standard_normal(len(features))
    exact = fit_readout(features.astype(np.float64), labels, ridge=1e-4)
    refined = fit_readout(features, labels, ridge=1e-4)
    np.testing.assert_allclose(refined.weights, exact.weights, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(refined.train_mse, exact.train_mse, rtol=1e-10)
    # Negative control: the factor alone.
    monkeypatch.setattr("onegrad.core.readout.LAST_CHANGE", np.inf)
    coarse = fit_readout(features, labels, ridge=1e-4)
    assert np.max(np.abs(coarse.weights - exact.weights)) > 1e-7


@pytest.mark.parametrize(("size", "ridge"), [(1.0, 1e-11), (1e25, 1e46)], ids=["small", "large"])
def test_double_precision_takes_over_where_single_is_too_coarse(rng, size, ridge):
    distinct = size * np.maximum(rng.standard_normal((90, 30)), 0)
    features, labels = np.tile(distinct, 2).astype(np.float32), rng.standard_normal(90)
    exact = fit_readout(features.astype(np.float64), labels, ridge=ridge)
    assert np.array_equal(fit_readout(features, labels, ridge=ridge).weights, exact.weights)


def test_features_that_are_not_finite_are_refused():
    features = np.array([[np.inf, 1.0], [1.0, 2.0]])
    for precision in (np.float64, np.float32):
        with pytest.raises(InvalidInput, match=r"^features\[0, 0\]=inf: must be finite; replace"):
            fit_readout(features.astype(precision), np.ones(2), ridge=0.1)
        # Features that a network made are no user's: the message says what to change.
        with pytest.raises(InvalidInput, match="not finite; bring learning rate"):
            ridge_readout(features.astype(precision), np.ones(2), ridge=0.1)


def test_a_singular_gram_matrix_is_an_error_that_names_the_remedy():
    with pytest.raises(InvalidInput, match="raise the ridge"):
        fit_readout(np.full((5, 5), 1e9), np.ones(5), ridge=1e-20)
