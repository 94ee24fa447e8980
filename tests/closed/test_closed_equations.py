"""The two-sided equivalent on grids made by hand: textbook formulas, dense algebra, derivatives."""

from dataclasses import replace

import numpy as np
import pytest

from closed_cases import many_types, one_type
from onegrad.closed.equivalent import Equations
from onegrad.closed.feature_grid import GridStack
from onegrad.closed.response import (
    CountsCorrection,
    Fit,
    WeightResponse,
    counts_correction,
    point_errors,
)
from onegrad.describe.exceptions import NotConverged
from onegrad.theory.maximal_rate import marchenko_pastur
from ridge_oracle import single_type_errors

NEURONS = 50
SAMPLES, RIDGES = np.array([30.0, 80.0, 400.0]), np.array([1e-2, 1e-4, 1.0])


@pytest.fixture
def sharp(monkeypatch):
    """Iterate until rounding, so that differences of solutions are derivatives."""
    monkeypatch.setattr("onegrad.closed.equivalent.TOLERANCE", 1e-13)


def solved(grid, neurons=NEURONS, samples=SAMPLES, ridges=RIDGES):
    return Equations.of(grid, neurons).solve(samples, ridges)


def dense_response(grid, solution, point):
    """Return S and T at one point, term by term as they are defined."""
    matrices, k = solution.matrices, float(solution.neurons[0])
    m, tau = solution.samples[point], solution.tau[point]
    b, alpha, p_linear = grid.linear_neurons, grid.mode_neurons, grid.linear
    gamma, gamma_modes = matrices.linear_samples[point], matrices.mode_samples[point]
    q = grid.own.copy()
    hessian = k * (alpha @ matrices.mode_left[point] @ alpha.T) ** 2
    carried = np.zeros((len(p_linear), len(p_linear)))
    for j, (share, profile) in enumerate(zip(grid.groups, grid.profile, strict=True)):
        free = np.eye(len(gamma)) - matrices.linear[point, j] @ gamma
        q += share * profile * (p_linear @ free @ b.T) ** 2
        inner = b @ matrices.linear_left[point, j] @ b.T
        hessian += k / grid.bulk * share * np.outer(profile, profile) * inner**2
        carried += grid.bulk * share * (p_linear @ matrices.linear[point, j] @ p_linear.T) ** 2
    free = np.eye(len(gamma_modes)) - matrices.mode[point] @ gamma_modes
    for one in grid.modes:
        q += (one @ free @ alpha.T) ** 2
        for other in grid.modes:
            carried += (one @ matrices.mode[point] @ other.T) ** 2
    system = np.diag(1 / (grid.neuron_weights * tau**2)) - hessian
    return system, (k * q @ np.linalg.solve(system, q.T) + carried) / m, q


def test_one_type_gives_back_the_single_type_formulas():
    """Ω = (a_1² ĜĜᵀ + C²)/k, and ĜĜᵀ has Marchenko and Pastur's law: MATH §4 integrates over it."""
    k, n = 60, 90
    a1, own, along, square = 0.7, 0.4, 0.5, 1.3
    errors = point_errors(
        solved(one_type(bulk=n, linear=a1, own=own, along=along, square=square), k),
        exact_counts=False,
    )
    points, weights = marchenko_pastur(k / n)  # eigenvalues of ĜĜᵀ, whose rows have length 1
    omega, psi2 = (a1**2 * points + own) / k, weights * points * (a1 * along) ** 2 / n
    for i, (m, ridge) in enumerate(zip(SAMPLES, RIDGES, strict=True)):
        low, high = ridge, ridge + k / m * omega.max() + 1
        for _ in range(200):
            kappa = 0.5 * (low + high)
            excess = kappa - ridge - kappa * k / m * (weights @ (omega / (omega + kappa)))
            low, high = (kappa, high) if excess < 0 else (low, kappa)
        fitted = np.sum(psi2 / (omega + kappa)), np.sum(psi2 / (omega + kappa) ** 2)
        spread = k / m * (weights @ (omega / (omega + kappa)) ** 2)
        test = (square - fitted[0] - kappa * fitted[1]) / (1 - spread)
        norm = fitted[1] + test / m * k * (weights @ (omega / (omega + kappa) ** 2))
        # The rule of the law is good to 1e−6 (test_maximal_rate), and 1/(1 − spread) amplifies it.
        assert errors.test_mse[i] == pytest.approx(test, rel=1e-4)
        assert errors.train_mse[i] == pytest.approx((ridge / kappa) ** 2 * test, rel=2e-4)
        assert errors.norm[i] == pytest.approx(norm, rel=2e-4)


def test_one_type_with_a_mean_is_ridge_regression_on_random_features(rng):
    """Drawn Ĝ through the formulas of MATH §4; a_0 is one eigenvector more.

    A mode's fluctuation is of order 1/k beside it, and 1/m is what centring takes off: 2 % at 150.
    """
    k, n, m, ridge = 150, 200, 260, 3e-3
    mean, a1, own, first, along, square = 0.8, 0.7, 0.4, 0.6, 0.5, 1.3
    grid = one_type(bulk=n, mean=mean, linear=a1, own=own, first=first, along=along, square=square)
    closed = point_errors(solved(grid, k, np.array([m]), np.array([ridge])), exact_counts=False)
    drawn = []
    for _ in range(12):
        g = rng.normal(0, 1 / np.sqrt(n), (k, n))
        psi = (mean * first + a1 * along * g[:, 0]) / np.sqrt(k)
        omega = (mean**2 + a1**2 * g @ g.T + own * np.eye(k)) / k
        found = single_type_errors(omega, psi, square, samples=m, ridge=ridge)
        drawn.append([found[name] for name in ("test_mse", "train_mse", "squared_weight_norm")])
    average, stderr = np.mean(drawn, axis=0), np.std(drawn, axis=0, ddof=1) / np.sqrt(12)
    ours = np.array([closed.test_mse[0], closed.train_mse[0], closed.norm[0]])
    assert np.all(np.abs(ours - average) <= 4 * stderr + 0.02 * average)
    # Negative control: without the mean as a feature the label's mean is not learned.
    none = point_errors(
        solved(
            replace(grid, modes=(0 * grid.modes[0], grid.modes[1])),
            k,
            np.array([m]),
            np.array([ridge]),
        ),
        exact_counts=False,
    )
    assert abs(none.test_mse[0] - average[0]) > 4 * stderr[0] + 0.02 * average[0]


def test_the_solution_satisfies_its_equations(rng, sharp):
    grid = many_types(rng)
    solution = solved(grid)
    k, matrices = NEURONS, solution.matrices
    for i, (m, ridge) in enumerate(zip(SAMPLES, RIDGES, strict=True)):
        kept, tau = grid.sample_weights / (1 + solution.delta[i]), solution.tau[i]
        share = tau * grid.neuron_weights
        gamma = (grid.linear.T * kept) @ grid.linear
        gamma_modes = sum((part.T * kept) @ part for part in grid.modes)
        left = k * ridge + kept @ grid.own
        reach = k * grid.own @ share
        for j, (nu, profile) in enumerate(zip(grid.groups, grid.profile, strict=True)):
            direct = (
                k / grid.bulk * (grid.linear_neurons.T * (share * profile)) @ grid.linear_neurons
            )
            inverse = np.linalg.inv(np.linalg.inv(direct) + gamma)
            np.testing.assert_allclose(matrices.linear[i, j], inverse, rtol=1e-8, atol=1e-10)
            rest = gamma - gamma @ inverse @ gamma
            left += (
                nu
                * profile
                * np.einsum("tr,rs,ts->t", grid.linear_neurons, rest, grid.linear_neurons)
            )
            reach += grid.bulk * nu * np.einsum("tr,rs,ts->t", grid.linear, inverse, grid.linear)
        direct = k * (grid.mode_neurons.T * share) @ grid.mode_neurons
        inverse = np.linalg.inv(np.linalg.inv(direct) + gamma_modes)
        rest = gamma_modes - gamma_modes @ inverse @ gamma_modes
        left += np.einsum("tr,rs,ts->t", grid.mode_neurons, rest, grid.mode_neurons)
        for part in grid.modes:
            reach += np.einsum("tr,rs,ts->t", part, inverse, part)
        np.testing.assert_allclose(1 / left, tau, rtol=1e-9)
        np.testing.assert_allclose(reach / m, solution.delta[i], rtol=1e-9)


def test_the_response_is_that_of_dense_algebra(rng):
    grid = many_types(rng)
    solution = solved(grid)
    response = WeightResponse(solution)
    own = rng.uniform(0.5, 2, (len(SAMPLES), len(grid.sample_weights)))
    right = rng.standard_normal((len(SAMPLES), len(grid.neuron_weights), 2))
    settled, answer, loads = response.settled(own), response.solved(right), response.loads
    carried = response.carried(own)
    for i in range(len(SAMPLES)):
        system, dense, q = dense_response(grid, solution, i)
        np.testing.assert_allclose(loads[i], q, rtol=1e-9)
        np.testing.assert_allclose(system @ answer[i], right[i], rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(carried[i], dense @ own[i], rtol=1e-9)
        weights = grid.sample_weights / (1 + solution.delta[i]) ** 2
        expected = np.linalg.solve(np.eye(len(dense)) - dense * weights, own[i])
        np.testing.assert_allclose(settled[i], expected, rtol=1e-8)


def test_the_response_is_the_derivative_of_the_fixed_point(rng, sharp):
    """dδ = −T dp̃ with p̃ = p/(1+δ): (I − T diag(p/(1+δ)²)) dδ = −T dp/(1+δ).

    Central differences of relative step 1e−4 leave 1e−8 of curvature and 1e−9 of rounding.
    """
    grid = many_types(rng)
    change = grid.sample_weights * rng.standard_normal(len(grid.sample_weights))
    h = 1e-4
    up, down = (
        solved(replace(grid, sample_weights=grid.sample_weights + sign * h * change))
        for sign in (1, -1)
    )
    numeric = (up.delta - down.delta) / (2 * h)
    solution = solved(grid)
    response = WeightResponse(solution)
    analytic = -response.settled(response.carried(change / (1 + solution.delta)))
    np.testing.assert_allclose(analytic, numeric, rtol=1e-5, atol=1e-8)
    # Negative control: T alone, without what δ does to p̃, is not the derivative.
    direct = -response.carried(change / (1 + solution.delta))
    assert np.max(np.abs(direct - numeric) / np.abs(numeric)) > 0.05


def norm_over_slope(grid, *, exact_counts=False):
    """Return ‖ŵ‖² over 2 dO/dλ, by central differences in log λ, less 1."""
    h = 1e-4

    def objective(factor):
        ridges = RIDGES * factor
        errors = point_errors(solved(grid, ridges=ridges), exact_counts=exact_counts)
        return 0.5 * errors.train_mse + 0.5 * ridges * errors.norm

    slope = (objective(1 + h) - objective(1 - h)) / (2 * h * RIDGES)
    return point_errors(solved(grid), exact_counts=exact_counts).norm / (2 * slope) - 1


def without_counts(response, fit, *, exact):
    """Return counts that take nothing off."""
    term = counts_correction(response, fit, exact=exact)
    return CountsCorrection(0 * term.error, 0 * term.shift, 0 * term.norm)


def test_the_norm_is_the_derivative_of_the_objective(rng, sharp, monkeypatch):
    """2 dO/dλ = ‖ŵ‖² because ŵ minimises O = ½ train + ½λ‖ŵ‖² on every training set.

    Differences of relative step 1e−4 leave 1e−8. What the counts of components take off is of
    relative order 1/m, without what λ does to it: the identity then holds to 1/m of that.
    """
    grid = many_types(rng)
    for exact in (False, True):
        off = norm_over_slope(grid, exact_counts=exact)
        assert np.all(np.abs(off) < 0.1 / SAMPLES)
    assert np.max(np.abs(norm_over_slope(grid))) > 1e-5
    monkeypatch.setattr("onegrad.closed.response.counts_correction", without_counts)
    assert np.all(np.abs(norm_over_slope(grid)) < 1e-6)
    assert np.all(np.abs(norm_over_slope(one_type(bulk=90))) < 1e-6)


def test_points_of_a_curve_are_the_points_alone(rng, sharp):
    grid = many_types(rng)
    together = point_errors(solved(grid), exact_counts=True)
    for i in range(len(SAMPLES)):
        alone = point_errors(
            solved(grid, samples=SAMPLES[i : i + 1], ridges=RIDGES[i : i + 1]), exact_counts=True
        )
        for name in ("test_mse", "train_mse", "norm"):
            assert getattr(alone, name)[0] == pytest.approx(getattr(together, name)[i], rel=1e-9)


def test_grids_side_by_side_are_the_grids_alone(rng, sharp):
    """Ranks, groups, bulk and neurons differ: what one grid lacks must not touch the others."""
    grids = [
        many_types(rng, groups=groups, linear=linear, modes=modes, bulk=bulk)
        for groups, linear, modes, bulk in ((1, 3, 12, 60), (3, 1, 2, 90), (2, 2, 4, 40))
    ]
    neurons = [50, 120, 30]
    stack = GridStack.of(grids, neurons)
    together = point_errors(Equations(stack).solve(SAMPLES, RIDGES), exact_counts=True)
    for i, (grid, k) in enumerate(zip(grids, neurons, strict=True)):
        solution = solved(grid, k, SAMPLES[i : i + 1], RIDGES[i : i + 1])
        alone = point_errors(solution, exact_counts=True)
        for name in ("test_mse", "train_mse", "norm", "bias", "error", "shift"):
            np.testing.assert_allclose(
                getattr(together, name)[i], getattr(alone, name)[0], rtol=1e-8
            )
    # Negative control: the grids matter.
    assert not np.allclose(together.test_mse, together.test_mse[0], rtol=1e-3)


def test_equal_types_are_one_type(rng, sharp):
    """A type split in two, of samples or of neurons, changes nothing."""
    grid = many_types(rng)
    rows = np.append(np.arange(len(grid.sample_weights)), 2)
    p = grid.sample_weights[rows].copy()
    p[[2, -1]] *= [0.3, 0.7]
    columns = np.append(np.arange(len(grid.neuron_weights)), 4)
    pi = grid.neuron_weights[columns].copy()
    pi[[4, -1]] *= [0.6, 0.4]
    split = replace(
        grid,
        sample_weights=p,
        neuron_weights=pi,
        linear=grid.linear[rows],
        linear_neurons=grid.linear_neurons[columns],
        modes=(grid.modes[0][rows], grid.modes[1][rows]),
        mode_neurons=grid.mode_neurons[columns],
        own=grid.own[np.ix_(rows, columns)],
        profile=grid.profile[:, columns],
        label=type(grid.label)(grid.label.table[..., rows]),
        part=grid.part[rows],
    )
    for exact in (True, False):
        whole = point_errors(solved(grid), exact_counts=exact)
        parts = point_errors(solved(split), exact_counts=exact)
        for name in ("test_mse", "train_mse", "norm", "bias"):
            np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-8)


def test_exact_counts_of_one_component_are_sampled_counts(rng):
    grid = many_types(rng, components=1)
    response = WeightResponse(solved(grid))
    fit = Fit.of(response)
    exact, sampled = (counts_correction(response, fit, exact=flag) for flag in (True, False))
    for name in ("error", "shift", "norm"):
        np.testing.assert_allclose(getattr(exact, name), getattr(sampled, name), rtol=1e-10)


def test_exact_counts_take_more_off_than_sampled_ones(rng):
    """Σ_c ρ_c Qe_c(Qe_c)ᵀ ≥ Qe(Qe)ᵀ for e = Σ_c ρ_c e_c: a variance is not negative."""
    response = WeightResponse(solved(many_types(rng)))
    fit = Fit.of(response)
    exact, sampled = (counts_correction(response, fit, exact=flag) for flag in (True, False))
    assert np.all(exact.error >= sampled.error)
    assert np.all(exact.norm >= sampled.norm)
    assert np.all(exact.norm > 1.001 * sampled.norm)


def test_iterations_that_do_not_end_are_said(rng, monkeypatch):
    monkeypatch.setattr("onegrad.closed.equivalent.MOST_ITERATIONS", 2)
    with pytest.raises(NotConverged, match="did not converge in 2 iterations") as refused:
        solved(many_types(rng))
    assert "method='types'" in str(refused.value)
    assert "\n" not in str(refused.value)
