"""Types with a covariance each: against the equations as they stand, and where they are chosen."""

import numpy as np
import pytest

from onegrad import Problem, predict, simulate
from onegrad.calculus.label_responses import TypeLabels
from onegrad.calculus.losses import get_loss
from onegrad.core.instance import draw
from onegrad.core.model_names import models_of
from onegrad.core.run import Run
from onegrad.theory.algebra import OwnCovariances, grid_labels, unevenness
from onegrad.theory.equations import ConvexByTypes, RidgeByTypes, solve_by_types
from onegrad.theory.grid import Types
from onegrad.theory.model_types import LARGEST_UNEVENNESS
from onegrad.verbs.predict import PredictedRun


def random_types(seed=0, counts=(3, 4), width=15, dimension=12):
    """Return types of no network at all: the algebra does not care."""
    rng = np.random.default_rng(seed)
    types, weights = [], rng.dirichlet(np.ones(sum(counts)))
    for count in counts:
        rows = rng.standard_normal((width, dimension))
        rows /= np.linalg.norm(rows, axis=1)[:, None]
        own, weights = weights[:count], weights[count:]
        signs = np.ones(count) if not types else -np.ones(count)
        coefficients = rng.standard_normal((3, count, width))
        types.append(
            Types(
                weights=own,
                coefficients=coefficients,
                rest=rng.uniform(0.2, 1.0, (count, width)),
                rows=rows,
                basis=np.zeros((dimension, 0)),
                label=signs[:, None] * coefficients[0],
                label_mean=signs,
                label_power=np.ones(count),
            )
        )
    return types


def labels_of(types):
    count = [len(own.weights) for own in types]
    means = np.concatenate([own.label_mean for own in types])
    return TypeLabels(
        weights=np.concatenate([own.weights for own in types]),
        components=np.repeat(np.arange(2.0), count),
        means=means,
        variances=np.zeros_like(means),
        binary=True,
    )


def explicit_moments(types):
    """Return ν_t and Σ_t of all types as they are defined."""
    means, covariances = [], []
    for own in types:
        k = own.rest.shape[1]
        r = own.rows @ own.rows.T
        for t in range(len(own.weights)):
            a = own.coefficients[:, t]
            sigma = np.outer(a[1], a[1]) * r + np.outer(a[2], a[2]) * r**2 + np.diag(own.rest[t])
            means.append(a[0] / np.sqrt(k))
            covariances.append(sigma / k)
    return np.array(means), np.array(covariances)


@pytest.mark.parametrize("ridge", [0.3, 0.02])
def test_a_solution_satisfies_its_equations(ridge):
    types, samples = random_types(), 20
    labels = labels_of(types)
    algebra = OwnCovariances(types, labels)
    solution = RidgeByTypes(algebra, samples, ridge)
    nu, sigma = explicit_moments(types)
    second = sigma + nu[:, :, None] * nu[:, None, :]
    p, zeta = solution.weights, solution.shrink
    q = np.linalg.inv(ridge * np.eye(len(nu[0])) + np.einsum("t,tij->ij", p * zeta, second))
    np.testing.assert_allclose(1 / zeta - 1, np.einsum("tij,ji->t", second, q) / samples, rtol=1e-6)
    own = np.repeat(solution.shift, [3, 4], axis=0)
    moved = np.einsum("tij,tj->ti", second, own)
    right = (p * zeta) @ (labels.means[:, None] * nu - moved)
    np.testing.assert_allclose(solution.mean, q @ right, rtol=1e-6)
    weights = solution.mean + own
    errors = (labels.means - np.einsum("ti,ti->t", nu, weights))[:, None] * nu
    forces = zeta[:, None] * (np.einsum("tij,tj->ti", sigma, weights) - errors)
    for c, place in enumerate(algebra.places):
        force = p[place] @ forces[place] / p[place].sum()
        np.testing.assert_allclose(solution.shift[c], q @ force / samples, rtol=1e-6)


def test_the_square_loss_is_a_convex_loss_of_its_own():
    """The two sets of equations are written apart and must meet."""
    algebra = OwnCovariances(random_types(), labels_of(random_types()))
    ridge = RidgeByTypes(algebra, 20, 0.1).errors()
    convex = ConvexByTypes(algebra, 20, 0.1, loss=get_loss("square")).errors()
    for name in ridge:
        assert convex[name] == pytest.approx(ridge[name], rel=1e-5), name


def at_strong_spikes(**readout):
    return Problem(
        dimension=120,
        network={"width": 100},
        readout={"samples": 120, "ridge": 1e-2, **readout},
        teacher={"kind": "labels"},
        scaling={"strength": 1.0, "weighting": 0.0},
    )


def types_of(problem, name):
    instance = draw(problem)
    run = PredictedRun(Run(instance), models_of(instance, name))
    (types,) = run.types_after(1).values()
    return types


def test_hermite_models_at_strong_spikes_have_a_covariance_for_each_type():
    chosen = {name: types_of(at_strong_spikes(), name) for name in ("network", "hermite:4")}
    uneven = {name: unevenness(types._grid) for name, types in chosen.items()}
    assert uneven["network"] < LARGEST_UNEVENNESS < uneven["hermite:4"]
    assert isinstance(chosen["hermite:4"]._first[0], OwnCovariances)
    assert not isinstance(chosen["network"]._first[0], OwnCovariances)


@pytest.mark.filterwarnings("ignore:strength=1")
def test_strong_spikes_under_the_logistic_loss_agree_with_simulation():
    problem = at_strong_spikes(loss="logistic").replace(test_samples=3000)
    models = ["network", "hermite:2"]
    simulated = simulate(problem, models, trials=10).metrics["test_loss"][..., 0]
    predicted = predict(problem, models, draws=10).metrics["test_loss"][..., 0]
    gap = (predicted - simulated).mean(axis=0)
    error = (predicted - simulated).std(axis=0, ddof=1) / np.sqrt(10)
    assert np.all(np.abs(gap) < 0.03 * simulated.mean(axis=0) + 4 * error)
    # The control: the linear model's loss is another.
    linear = predict(problem, "linear", draws=10).metrics["test_loss"][:, 0, 0]
    assert abs(linear.mean() / simulated[:, 0].mean() - 1) > 0.1


def test_both_algebras_agree_where_types_share_their_covariance():
    problem = at_strong_spikes().replace(scaling__strength=0.5, scaling__weighting=0.5)
    types = types_of(problem, "network")
    for loss in ("square", "logistic"):
        shared = types.solve(120, 1e-2, loss=loss)
        assert not isinstance(shared.algebra, OwnCovariances)
        own = solve_by_types(types._own, 120, 1e-2, loss=loss)
        ours = [solution.errors() for solution in (shared, own)]
        for name in ("test_mse", "train_mse", "misclassification", "squared_weight_norm"):
            assert ours[0][name] == pytest.approx(ours[1][name], rel=2e-3), (loss, name)
    assert grid_labels(types._grid, types.teacher, binary=True).fixed


def test_wide_networks_on_samples_of_unequal_size_have_a_covariance_for_each_type():
    """Where k > m fits all samples, one covariance for both sizes is 15 % off here."""
    sizes = [
        {"weight": 0.4, "level": 3.0, "label": 1.0},
        {"weight": 0.6, "level": 0.3, "label": -1.0},
    ]
    problem = Problem(
        dimension=60,
        network={"width": 200, "activation": "tanh"},
        readout={"samples": 80, "ridge": 1e-5},
        teacher={"kind": "labels"},
        scaling={"strength": 0.9, "weighting": 0.7},
        data={"components": sizes},
    )
    types = types_of(problem, "network")
    chosen = types.solve(80, 1e-5, loss="square")
    assert isinstance(chosen.algebra, OwnCovariances)
    shared = RidgeByTypes(types._first[0], 80, 1e-5).errors()["test_mse"]
    assert shared < 0.9 * chosen.errors()["test_mse"]
    # At a larger penalty samples are not fitted, and the fast algebra serves.
    assert not isinstance(types.solve(80, 1.0, loss="square").algebra, OwnCovariances)


def test_two_strong_spikes_have_a_grid_and_many_do_not():
    problem = Problem(dimension=60, scaling={"strength": 0.95, "weighting": 0.01})
    for rank, on_grid in ((2, True), (4, False)):
        types = types_of(problem.replace(data__components__0__rank=rank), "network")
        assert types.on_grid == on_grid
