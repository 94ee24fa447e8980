"""Theory by types with a shared covariance: against dense algebra, simulation and other methods."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import fsolve

from conftest import small
from onegrad import MixtureSource, Problem, predict, predict_curve, simulate
from onegrad.calculus.label_responses import TypeLabels
from onegrad.calculus.loss_expectations import gaussian_losses, gaussian_response
from onegrad.calculus.losses import get_loss
from onegrad.theory.algebra import SharedCovariance, TypeMoments, training_weights
from onegrad.theory.equations import solve_by_types
from theory_cases import single_type

UNEQUAL = Problem(
    dimension=195,
    network={"width": 163},
    training={"samples": 200},
    readout={"samples": 141, "ridge": 1.3e-4},
    data={
        "components": [
            {"weight": 0.28, "level": 0.5, "label": 1.0},
            {"weight": 0.72, "level": 2.0, "label": -1.0},
        ]
    },
    teacher={"kind": "labels"},
    scaling={"strength": 0.53, "weighting": 0.46},
)


def random_types(seed=0, types=7, width=24, components=3):
    """Return moments of no network at all: the algebra does not care."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((width, width)) / np.sqrt(width)
    sizes, own = rng.uniform(0.5, 2.0, types), rng.uniform(0.0, 0.2, types)
    weights = rng.dirichlet(np.ones(types))
    means = rng.standard_normal((types, width)) / np.sqrt(width)
    return TypeMoments(
        labels=TypeLabels(
            weights=weights,
            components=np.sort(np.arange(types) % components).astype(float),
            means=rng.standard_normal(types),
            variances=rng.uniform(0.5, 1.0, types),
        ),
        means=means,
        traces=sizes * np.sum(root**2) + own * width,
        rests=own * width,
        covariance=np.asfortranarray(
            (weights @ sizes) * root @ root.T + (weights @ own) * np.eye(width)
        ),
        label_cross=0.1 * rng.standard_normal((types, width)) / np.sqrt(width),
    )


def dense_errors(types, samples, ridge, *, exact_counts):
    """Return test and train MSE and the squared norm by the equations as they stand."""
    labels = types.labels
    p = training_weights(labels, samples) if exact_counts else labels.weights
    k = types.means.shape[1]
    covariances = _covariances(types)
    second = [sigma + np.outer(nu, nu) for sigma, nu in zip(covariances, types.means, strict=True)]
    names = np.unique(types.labels.components)
    place = {c: np.flatnonzero(types.labels.components == c) for c in names}
    own = np.searchsorted(names, types.labels.components)
    gamma, error = np.ones(len(p)), np.ones(len(p))
    shift = np.zeros((len(names), k))
    for _ in range(3000):
        before = gamma, error
        zeta = 1 / (1 + gamma)
        pulled = sum(w * z * m for w, z, m in zip(p, zeta, second, strict=True))
        q = np.linalg.inv(ridge * np.eye(k) + pulled)
        right = sum(
            p[t] * zeta[t] * (types.labels.means[t] * types.means[t] + types.label_cross[t])
            - p[t] * zeta[t] * second[t] @ shift[own[t]]
            for t in range(len(p))
        )
        mean = q @ right
        forces = []
        for c, name in enumerate(names):
            w = mean + shift[c]
            forces.append(
                sum(
                    p[t]
                    * zeta[t]
                    * (
                        (types.means[t] @ w - types.labels.means[t]) * types.means[t]
                        + covariances[t] @ w
                        - types.label_cross[t]
                    )
                    for t in place[name]
                )
                / p[place[name]].sum()
            )
        shares = np.array([p[place[name]].sum() for name in names])
        if not exact_counts:
            forces = [sum(s * f for s, f in zip(shares, forces, strict=True))] * len(names)
        shift = np.array([q @ f for f in forces]) / samples
        chi = zeta**2 * error
        inner = sum(w * x * m for w, x, m in zip(p, chi, second, strict=True))
        inner -= sum(s * np.outer(f, f) for s, f in zip(shares, forces, strict=True))
        cov = q @ inner @ q / samples
        gamma = np.array([np.trace(m @ q) for m in second]) / samples
        error = _squared(types, second, cov, mean + shift[own])
        if np.allclose([gamma, error], before, rtol=1e-13, atol=0):
            break
    test = types.labels.weights @ _squared(types, second, cov, np.broadcast_to(mean, (len(p), k)))
    return test, p @ (error / (1 + gamma) ** 2), mean @ mean + np.trace(cov)


def _covariances(types):
    """Return Σ_t = τ_tS + δ_tI with S = Σ̄ − δ̄I."""
    k = types.means.shape[1]
    own = types.rests / k
    mean = types.labels.weights @ own
    common = types.covariance - mean * np.eye(k)
    factors = (types.traces - types.rests) / np.trace(common)
    return [tau * common + delta * np.eye(k) for tau, delta in zip(factors, own, strict=True)]


def _squared(types, second, cov, weights):
    covariances = _covariances(types)
    return np.array(
        [
            (types.labels.means[t] - types.means[t] @ w) ** 2
            + w @ covariances[t] @ w
            + np.trace(second[t] @ cov)
            + types.labels.variances[t]
            - 2 * types.label_cross[t] @ w
            for t, w in enumerate(weights)
        ]
    )


@pytest.mark.parametrize("exact_counts", [True, False])
@pytest.mark.parametrize(("samples", "ridge"), [(60, 0.05), (30, 0.01), (15, 0.1)])
def test_the_reduction_is_the_dense_algebra(samples, ridge, exact_counts):
    types = random_types()
    dense = dense_errors(types, samples, ridge, exact_counts=exact_counts)
    reduced = SharedCovariance(random_types(), exact_counts=exact_counts)
    found = solve_by_types(reduced, samples, ridge, loss="square").errors()
    ours = [found[name] for name in ("test_mse", "train_mse", "squared_weight_norm")]
    assert ours == pytest.approx(dense, rel=1e-6)


def test_level_plus_low_rank_is_the_dense_matrix_it_stands_for(rng):
    types, level = random_types(), 0.7
    factor = rng.standard_normal((24, 6)) / np.sqrt(24)
    given = {"traces": 3.0 * types.labels.weights / types.labels.weights.mean(), "rests": 0.1}
    given["rests"] *= given["traces"]
    dense = np.asfortranarray(level * np.eye(24) + factor @ factor.T)
    for samples, ridge in ((20, 1e-2), (20, 1.0), (200, 1e-2), (200, 1.0)):
        first, second = (
            solve_by_types(
                SharedCovariance(replace(types, **given, **part)), samples, ridge, loss="square"
            ).errors()
            for part in (
                {"covariance": dense.copy(order="F")},
                {"covariance": factor, "level": level},
            )
        )
        for name in ("test_mse", "train_mse", "squared_weight_norm"):
            assert first[name] == pytest.approx(second[name], rel=1e-8)


def test_types_hold_where_components_differ_in_size_and_one_type_does_not():
    errors = simulate(UNEQUAL, "network", trials=12)
    mean, stderr = errors.estimate().mean[0, 0], errors.estimate().stderr[0, 0]
    types = predict(UNEQUAL, "network", method="types", draws=4).estimate().mean[0, 0]
    single = np.mean([single_type(UNEQUAL, trial=t)["test_mse"] for t in range(4)])
    assert abs(types - mean) < 4 * stderr
    assert abs(single - mean) > 8 * stderr  # the control


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"network__activation": "tanh", "teacher": {"kind": "labels"}},
        {"scaling__strength": 1.0, "scaling__weighting": 0.0},
        {"data__counts": "sampled"},
        {"teacher": {"links": ["z+z**2", "z-z**2"]}, "training__steps": 2},
        {"data__components__0__rank": 5},
        {"data__components__0__rank": 3, "scaling": {"learning_rate": 2.0, "spread": 40.0}},
    ],
)
def test_types_agree_with_simulation(changes):
    problem = Problem(dimension=120, readout={"samples": 160, "ridge": 1e-2}, network={"width": 90})
    problem = problem.replace(data=MixtureSource()).replace(**changes)
    simulated = simulate(problem, "network", trials=10).metrics["test_mse"][:, 0]
    predicted = predict(problem, "network", method="types", draws=10).metrics["test_mse"][:, 0]
    gaps = (predicted - simulated).mean(axis=0)
    errors = (predicted - simulated).std(axis=0, ddof=1) / np.sqrt(10)
    assert np.all(np.abs(gaps) < 0.03 * simulated.mean(axis=0) + 4 * errors)


def test_a_curve_by_types_has_the_points_that_predict_has():
    problem = small(readout__ridge=1e-2)
    curve = predict_curve(
        problem, samples=[30, 50], ridge=[1e-2, 0.1], models="network", method="types", draws=2
    )
    assert curve.metrics["test_mse"].shape == (2, 1, 2, 2)
    alone = predict(problem, "network", method="types", draws=2)
    assert curve.metrics["test_mse"][:, 0, 1, 0] == pytest.approx(
        alone.metrics["test_mse"][:, 0, 0]
    )


@pytest.mark.parametrize("loss", ["square", "logistic", "squared_hinge", "hinge"])
def test_losses_and_rates_are_those_of_simulation(loss):
    """Test loss within 2 %, misclassification within 5 %, beside four standard errors."""
    mean = np.random.default_rng(0).standard_normal(120)
    mean *= 1.5 / np.linalg.norm(mean)
    problem = Problem(
        dimension=120,
        network={"width": 100},
        readout={"samples": 150, "ridge": 1e-2, "loss": loss},
        data={"components": [{"weight": 0.5, "mean": s * mean, "label": s} for s in (1.0, -1.0)]},
        teacher={"kind": "labels"},
        test_samples=3000,
    )
    simulated = simulate(problem, "network", trials=12)
    predicted = predict(problem, "network", method="types", draws=12)
    names = {"test_mse": 0.02, "misclassification": 0.05, "squared_weight_norm": 0.1}
    names |= {"test_loss": 0.02, "train_loss": 0.05} if loss != "square" else {}
    for name, tolerance in names.items():
        ours, theirs = (e.metrics[name][:, 0, 0] for e in (predicted, simulated))
        error = np.std(ours - theirs, ddof=1) / np.sqrt(12)
        assert abs(np.mean(ours - theirs)) < tolerance * theirs.mean() + 4 * error, name
    # The control: by the rate of a penalty a hundred times larger it would be seen.
    other = problem.replace(readout__ridge=1.0)
    shifted = predict(other, "network", method="types", draws=12).metrics["squared_weight_norm"]
    assert shifted.mean() < 0.5 * simulated.metrics["squared_weight_norm"].mean()


def test_logistic_regression_on_two_gaussians_agrees_with_three_scalar_equations():
    """The state evolution of ridge logistic regression on ±μ with identity covariance.

    After Loureiro et al. (2021), in the limit of many features: overlap m of ŵ with the mean's
    direction, ‖ŵ‖² = q and response V, for labels that are the sign of the mean.
    """
    width, samples, ridge, size = 100_000, 150_000, 0.05, 1.2
    loss = get_loss("logistic")

    def equations(x):
        m, q, v = x
        f, slope, square = (
            float(e) for e in gaussian_response(loss, 1.0, size * m, variance=q, gamma=v)
        )
        overlap = (slope * size * m - f) * size / (ridge + slope * (1 + size**2))
        spread = square * (width / samples) / (ridge + slope) ** 2
        return [overlap - m, overlap**2 + spread - q, width / samples / (ridge + slope) - v]

    m, q, v = fsolve(equations, [0.5, 1.0, 0.5], xtol=1e-12)
    oracle = gaussian_losses(loss, 1.0, size * m, variance=q, gamma=v)
    means = np.zeros((2, width))
    means[:, 0] = [size, -size]
    almost_nothing = np.zeros((width, 1))
    almost_nothing[1] = 1e-6  # Σ̄ = I + AAᵀ
    types = TypeMoments(
        labels=TypeLabels(
            weights=np.full(2, 0.5),
            components=np.arange(2.0),
            means=np.array([1.0, -1.0]),
            variances=np.zeros(2),
            binary=True,
        ),
        means=means,
        traces=np.full(2, float(width)),
        rests=np.zeros(2),
        covariance=almost_nothing,
        label_cross=np.zeros((2, width)),
        level=1.0,
    )
    found = solve_by_types(SharedCovariance(types), samples, ridge, loss="logistic").errors()
    assert found["test_loss"] == pytest.approx(float(oracle.test_loss), rel=1e-4)
    assert found["train_loss"] == pytest.approx(float(oracle.train_loss), rel=1e-4)
    rate = float(oracle.test_misclassification)
    assert found["misclassification"] == pytest.approx(rate, rel=1e-4)
    assert found["squared_weight_norm"] == pytest.approx(q, rel=1e-4)
