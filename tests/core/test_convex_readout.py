"""Readouts by convex losses: optimality, other people's solvers, invariances, refusals."""

import warnings

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.linear_model import HuberRegressor, LogisticRegression
from sklearn.svm import SVC, LinearSVC

from onegrad import InvalidInput
from onegrad.calculus.losses import LOSSES, get_loss, register_loss
from onegrad.core import convex_readout
from onegrad.core.convex_readout import loss_readout
from onegrad.core.readout import ridge_readout
from onegrad.describe.exceptions import NotConverged
from onegrad.stages import fit_readout
from own_losses import Exponential, PlainLogistic, Quantile

SHAPES = [(60, 20), (40, 40), (30, 70)]  # k < m, k = m, k > m
shapes = pytest.mark.parametrize("shape", SHAPES, ids=["narrow", "square", "wide"])
RIDGES = [1e-6, 1e-4, 1e-2, 1.0]
BUILT_IN = ["square", "logistic", "squared_hinge", "hinge", "huber:0.3"]


def batch(shape, *, noise=0.5):
    """Return ReLU features and labels ±1 of a noisy direction."""
    rng = np.random.default_rng(shape)
    features = np.maximum(rng.standard_normal(shape), 0) - 0.2
    clean = features @ rng.standard_normal(shape[1]) / np.sqrt(shape[1])
    return features, np.sign(clean + noise * rng.standard_normal(shape[0]))


def objective(weights, features, labels, loss, ridge):
    outputs = features @ weights / np.sqrt(features.shape[1])
    return np.mean(get_loss(loss).value(labels, outputs)) + ridge / 2 * weights @ weights


@shapes
@pytest.mark.parametrize("ridge", RIDGES)
def test_the_square_loss_is_ridge_regression(shape, ridge):
    features, labels = batch(shape)
    labels = labels + 0.3
    found = loss_readout(features, labels, loss="square", ridge=ridge)
    expected = ridge_readout(features, labels, ridge=ridge)
    size = np.linalg.norm(expected.weights)
    np.testing.assert_allclose(found.weights, expected.weights, rtol=0, atol=1e-8 * size)
    np.testing.assert_allclose(found.train_mse, expected.train_mse, rtol=1e-6)
    np.testing.assert_allclose(found.train_loss, expected.train_mse / 2, rtol=1e-6)
    np.testing.assert_allclose(found.objective, expected.objective, rtol=1e-8)
    np.testing.assert_allclose(found.squared_norm, expected.squared_norm, rtol=1e-7)


@shapes
@pytest.mark.parametrize("loss", BUILT_IN)
def test_the_gradient_vanishes_and_no_neighbour_is_better(shape, loss):
    features, labels = batch(shape)
    for ridge in RIDGES:
        found = loss_readout(features, labels, loss=loss, ridge=ridge)
        weights = found.weights[:, 0]
        assert found.error[0] <= (1e-8 if get_loss(loss).smooth else 1e-5)
        assert found.objective[0] == pytest.approx(
            objective(weights, features, labels, loss, ridge), rel=1e-12
        )
        rng = np.random.default_rng(1)
        for size in (1e-3, 1e-1):
            step = rng.standard_normal(len(weights))
            step *= size * np.linalg.norm(weights) / np.linalg.norm(step)
            moved = objective(weights + step, features, labels, loss, ridge)
            # strong convexity: a step costs at least λ/2 of its square
            assert moved >= found.objective[0] + 0.49 * ridge * step @ step - 1e-14
        if get_loss(loss).smooth:
            phi = features / np.sqrt(shape[1])
            slopes = get_loss(loss).derivative(labels, phi @ weights)
            gradient = phi.T @ slopes / shape[0] + ridge * weights
            # 2e−8: the bound's 1e−8, and rounding of this gradient
            assert np.linalg.norm(gradient) <= 2e-8 * ridge * np.linalg.norm(weights) + 1e-15


@shapes
@pytest.mark.parametrize("ridge", [1e-4, 1e-2, 1.0])
def test_logistic_regression_is_that_of_scikit_learn(shape, ridge):
    features, labels = batch(shape)
    peer = LogisticRegression(
        C=1 / (ridge * shape[0]), fit_intercept=False, tol=1e-12, max_iter=10**4
    )
    peer.set_params(solver="newton-cg")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer.fit(features / np.sqrt(shape[1]), labels)
    found = loss_readout(features, labels, loss="logistic", ridge=ridge)
    size = np.linalg.norm(peer.coef_)
    np.testing.assert_allclose(found.weights[:, 0], peer.coef_[0], rtol=0, atol=1e-5 * size)


@shapes
@pytest.mark.parametrize("ridge", [1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_hinges_are_those_of_scikit_learn(shape, ridge, loss):
    features, labels = batch(shape)
    m, k = shape
    # Its squared hinge lacks our ½.
    strength = 1 / (ridge * m) if loss == "hinge" else 1 / (2 * ridge * m)
    peer = LinearSVC(C=strength, loss=loss, fit_intercept=False, tol=1e-9, max_iter=10**6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer.fit(features / np.sqrt(k), labels)
    found = loss_readout(features, labels, loss=loss, ridge=ridge)
    size = np.linalg.norm(peer.coef_)
    np.testing.assert_allclose(found.weights[:, 0], peer.coef_[0], rtol=0, atol=1e-4 * size)
    theirs = objective(peer.coef_[0], features, labels, loss, ridge)
    assert found.objective[0] <= theirs * (1 + 1e-9)


@pytest.mark.parametrize("ridge", [1e-2, 1.0])
def test_the_huber_loss_is_that_of_scikit_learn_at_its_own_scale(ridge):
    features, labels = batch((60, 20))
    labels = labels + np.random.default_rng(2).standard_t(2, 60)
    phi = features / np.sqrt(20)
    # It minimises Σ σ + σ H(r/σ) + α‖w‖² with H(z) = z² or 2ε|z| − ε²: at its σ that is our loss
    # with Δ = εσ, times 2/σ, and α = mλ/σ.
    delta = 1.35
    peer = HuberRegressor(epsilon=delta, alpha=60 * ridge, fit_intercept=False, tol=1e-10)
    peer.set_params(max_iter=10**4).fit(phi, labels)
    sigma = float(peer.scale_)
    loss = f"huber:{delta * sigma!r}"
    found = loss_readout(features, labels, loss=loss, ridge=ridge * sigma)
    # Its own stopping rule leaves 1e−3.
    np.testing.assert_allclose(found.weights[:, 0], peer.coef_, atol=1e-3)
    theirs = objective(peer.coef_, features, labels, loss, ridge * sigma)
    assert theirs * (1 - 1e-6) <= found.objective[0] <= theirs


@pytest.fixture
def own_losses(monkeypatch):
    monkeypatch.setattr(LOSSES, "entries", dict(LOSSES.entries))
    register_loss("quantile", Quantile, argument="LEVEL")
    register_loss("plain_logistic", PlainLogistic)
    register_loss("exponential", Exponential)


@shapes
@pytest.mark.parametrize("ridge", RIDGES)
def test_a_loss_given_by_value_and_derivative_alone_is_fitted(own_losses, shape, ridge):
    features, labels = batch(shape)
    own = loss_readout(features, labels, loss="plain_logistic", ridge=ridge)
    built_in = loss_readout(features, labels, loss="logistic", ridge=ridge)
    size = np.sqrt(built_in.squared_norm[0])
    np.testing.assert_allclose(own.weights, built_in.weights, rtol=0, atol=1e-7 * size)


@pytest.mark.parametrize("size", [1.0, 1e3])
def test_a_loss_that_overflows_on_the_way_is_fitted(own_losses, size):
    features, labels = batch((60, 20))
    found = loss_readout(size * features, labels, loss="exponential", ridge=1e-3 * size**2)
    expected = loss_readout(features, labels, loss="exponential", ridge=1e-3)
    np.testing.assert_allclose(size * found.weights, expected.weights, atol=1e-6)


def test_a_jumping_loss_of_one_s_own_tends_to_the_linear_program(own_losses):
    features, labels = batch((40, 8))
    labels = labels + np.random.default_rng(4).standard_normal(40)
    phi = features / np.sqrt(8)
    found = loss_readout(features, labels, loss="quantile:0.5", ridge=1e-6)
    # min Σ s with −s ≤ y − φw ≤ s
    cost = np.concatenate([np.zeros(8), np.ones(40)])
    above = np.hstack([phi, -np.eye(40)])
    below = np.hstack([-phi, -np.eye(40)])
    program = linprog(
        cost,
        A_ub=np.vstack([above, below]),
        b_ub=np.concatenate([labels, -labels]),
        bounds=[(None, None)] * 8 + [(0, None)] * 40,
    )
    # The penalty costs at most (λ/2)‖w‖² of the program's weights.
    slack = 0.5e-6 * program.x[:8] @ program.x[:8]
    assert found.train_loss[0] == pytest.approx(program.fun / 80, abs=slack + 1e-10)


@pytest.mark.parametrize("loss", BUILT_IN)
def test_penalties_together_are_penalties_alone_in_the_order_given(loss):
    features, labels = batch((30, 70))
    ridges = [1e-3, 1.0, 1e-6, 0.1]
    together = loss_readout(features, labels, loss=loss, ridge=ridges)
    assert together.weights.shape == (70, 4)
    assert together.ridge.tolist() == ridges
    for i, ridge in enumerate(ridges):
        alone = loss_readout(features, labels, loss=loss, ridge=ridge)
        size = np.sqrt(alone.squared_norm[0])
        np.testing.assert_allclose(
            together.weights[:, i], alone.weights[:, 0], rtol=0, atol=2e-6 * size
        )
        for name in ("train_loss", "train_mse", "objective"):
            values = getattr(together, name)[i], getattr(alone, name)[0]
            assert values[0] == pytest.approx(values[1], rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "hinge"])
def test_separable_data_are_separated(loss):
    features, labels = batch((30, 70))
    found = loss_readout(features, labels, loss=loss, ridge=[1.0, 1e-3, 1e-6])
    assert found.train_misclassification[-1] == 0
    assert np.all(np.diff(found.train_loss) < 0)
    assert np.all(np.isfinite(found.weights))


def test_the_hinge_on_separable_data_is_the_widest_margin():
    features, labels = batch((30, 70))
    found = loss_readout(features, labels, loss="hinge", ridge=1e-6).weights[:, 0]
    kernel = SVC(kernel="linear", C=1e6, tol=1e-10)
    phi = features / np.sqrt(70)
    # Without an intercept: every point beside its mirror image.
    kernel.fit(np.vstack([phi, -phi]), np.concatenate([labels, -labels]))
    size = np.linalg.norm(found)
    np.testing.assert_allclose(found, kernel.coef_[0], rtol=0, atol=1e-5 * size)


@shapes
@pytest.mark.parametrize("loss", BUILT_IN)
def test_one_class_alone_is_fitted(shape, loss):
    features, _ = batch(shape)
    found = loss_readout(features, np.ones(shape[0]), loss=loss, ridge=[1e-2, 1e-6])
    assert np.all(np.isfinite(found.objective))
    if get_loss(loss).needs_signs:
        assert found.train_misclassification[1] == 0


@pytest.mark.parametrize("loss", BUILT_IN)
def test_labels_that_say_nothing_have_no_weights(loss):
    row = np.random.default_rng(3).standard_normal(6)
    features, labels = np.tile(row, (4, 1)), np.array([1.0, -1.0, 1.0, -1.0])
    found = loss_readout(features, labels, loss=loss, ridge=1e-3)
    np.testing.assert_allclose(found.weights, 0, atol=1e-12)


@pytest.mark.parametrize("loss", BUILT_IN)
def test_duplicated_samples_change_nothing(loss):
    features, labels = batch((40, 40))
    once = loss_readout(features, labels, loss=loss, ridge=1e-3)
    twice = loss_readout(np.tile(features, (2, 1)), np.tile(labels, 2), loss=loss, ridge=1e-3)
    size = np.sqrt(once.squared_norm[0])
    np.testing.assert_allclose(once.weights, twice.weights, rtol=0, atol=2e-6 * size)


def test_single_precision_is_computed_in_double():
    features, labels = batch((40, 40))
    single = features.astype(np.float32)
    found = loss_readout(single, labels, loss="logistic", ridge=1e-3)
    expected = loss_readout(single.astype(np.float64), labels, loss="logistic", ridge=1e-3)
    assert np.array_equal(found.weights, expected.weights)
    assert single.dtype == np.float32


@shapes
def test_newton_and_quasi_newton_agree(shape, monkeypatch):
    features, labels = batch(shape)
    quasi = loss_readout(features, labels, loss="logistic", ridge=1e-3)
    monkeypatch.setattr(convex_readout, "FIRST_JUDGED", 0)
    newton = loss_readout(features, labels, loss="logistic", ridge=1e-3)
    assert newton.steps[0] < quasi.steps[0]
    size = np.sqrt(newton.squared_norm[0])
    np.testing.assert_allclose(quasi.weights, newton.weights, rtol=0, atol=2e-8 * size)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_a_minimum_that_is_not_reached_is_said(loss, monkeypatch):
    features, labels = batch((30, 70))
    monkeypatch.setattr(convex_readout, "FIRST_JUDGED", 0)
    monkeypatch.setattr(convex_readout, "MOST_NEWTON_STEPS", 1)
    monkeypatch.setattr("onegrad.core.convex_readout.LEAST_REACH", 1.0)
    with pytest.raises(
        NotConverged, match=r"^ridge=1e-06: weights of loss='\w+' .*; raise"
    ) as said:
        loss_readout(features, labels, loss=loss, ridge=1e-6)
    assert "\n" not in str(said.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": np.zeros(30)}, r"^labels=0: must be -1 or 1 for loss='logistic'; change"),
        (
            {"labels": np.ones(29)},
            r"^labels=ndarray of 29 float64: must have one entry per row of features, there are 30",
        ),
        (
            {"features": np.full((30, 70), np.nan)},
            r"^features\[0, 0\]=nan: must be finite; replace",
        ),
        ({"ridge": 0.0}, r"^ridge=0: must be finite and greater than 0; change it"),
        ({"ridge": []}, r"^ridge=\[\]: must hold at least one number; add one"),
        ({"loss": "huber", "labels": np.full(30, np.inf)}, r"^labels\[0\]=inf: must be finite"),
        ({"loss": "logit"}, r"^loss='logit': must be one of square, .*; did you mean"),
    ],
)
def test_what_cannot_be_fitted_is_refused(changes, message):
    features, labels = batch((30, 70))
    given = {"features": features, "labels": labels, "loss": "logistic", "ridge": 1.0, **changes}
    with pytest.raises(InvalidInput, match=message):
        fit_readout(**given)
