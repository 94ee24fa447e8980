"""Directions times lengths: exact to degree 7, exact for what bends at 0, and signs beside them."""

import numpy as np
import pytest
from scipy.special import gamma

from onegrad.calculus.quadrature import (
    degree_seven_rule,
    product_rule,
    ray_rule,
    sphere_rule,
    split_normal_rule,
    with_signs,
)
from rule_moments import deviation_in_degree


@pytest.mark.parametrize("coordinates", [2, 3, 4, 5, 6, 7, 8])
def test_the_rule_of_degree_seven_has_it(coordinates):
    rule = degree_seven_rule(coordinates)
    assert rule is not None  # types rely on it up to eight coordinates
    assert np.all(rule[1] > 0)
    for degree in range(8):
        assert deviation_in_degree(rule, degree) < 1e-13
    assert deviation_in_degree(rule, 8) > 0.01


def test_directions_with_negative_weights_are_refused():
    assert sphere_rule(9) is None
    assert degree_seven_rule(9) is None
    assert ray_rule(9, 3) is None


@pytest.mark.parametrize("coordinates", [2, 3, 6])
def test_rays_are_exact_for_odd_powers_of_the_length(coordinates):
    """E|x|^p = 2^{p/2} Γ((d+p)/2)/Γ(d/2); the rule of degree 7 is not exact for odd p."""
    rays, squares = ray_rule(coordinates, 3), degree_seven_rule(coordinates)
    for power in range(6):
        exact = 2 ** (power / 2) * gamma((coordinates + power) / 2) / gamma(coordinates / 2)
        values = [
            weights @ np.linalg.norm(nodes, axis=1) ** power for nodes, weights in (rays, squares)
        ]
        assert values[0] == pytest.approx(exact, rel=1e-12)
        if power % 2:  # negative control
            assert abs(values[1] / exact - 1) > 1e-3


@pytest.mark.parametrize("coordinates", [2, 4, 6])
@pytest.mark.parametrize(("strength", "allowed"), [(0.5, 0.005), (1.0, 0.04)])
def test_rays_see_a_bend_along_any_direction(coordinates, strength, allowed, rng):
    """E tanh(strength·uᵀx)² for random u, against one coordinate's own rule."""
    nodes, weights = ray_rule(coordinates, 3)
    u = rng.standard_normal((coordinates, 50))
    u /= np.linalg.norm(u, axis=0)
    fine, shares = split_normal_rule(30, 0.0)
    truth = shares @ np.tanh(strength * fine) ** 2
    found = weights @ np.tanh(strength * nodes @ u) ** 2
    np.testing.assert_allclose(found, truth, rtol=allowed)


@pytest.mark.parametrize("faint", [1, 2, 3, 5])
def test_signs_have_mean_zero_variance_one_and_hardly_any_covariance(faint):
    inner = product_rule([split_normal_rule(4, 0.0), split_normal_rule(4, 0.0)])
    nodes, weights = with_signs(inner, faint)
    assert len(weights) == 2 * len(inner[1])
    assert weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(weights @ nodes, 0, atol=1e-14)
    second = (nodes.T * weights) @ nodes
    np.testing.assert_allclose(second[:2], np.eye(2, 2 + faint), atol=1e-12)
    np.testing.assert_allclose(np.diag(second), 1, atol=1e-12)
    np.testing.assert_allclose(second, np.eye(2 + faint), atol=0.01)
    third = np.einsum("t,ti,tj,tk->ijk", weights, nodes, nodes, nodes)
    for odd in (third[2:, :2, :2], third[2:, 2:, 2:]):  # signs come with their negatives
        np.testing.assert_allclose(odd, 0, atol=1e-12)
