"""Quadrature of normal coordinates: every rule is exact to its degree, and not beyond it."""

from math import factorial

import numpy as np
import pytest
from scipy.special import ndtr

from onegrad.calculus.quadrature import (
    cross_rule,
    half_range_rule,
    normal_rule,
    panel_rule,
    product_rule,
    split_normal_rule,
    stroud_rule,
)
from rule_moments import deviation_in_degree, normal_moment


def moments_above(cut, most):
    """Return E[z^p; z > cut] for p ≤ most by the recurrence of partial integration."""
    density = np.exp(-(cut**2) / 2) / np.sqrt(2 * np.pi)
    values = [float(ndtr(-cut)), density]
    for p in range(2, most + 1):
        values.append(cut ** (p - 1) * density + (p - 1) * values[p - 2])
    return np.array(values[: most + 1])


def partial_moments(rule, keep, most):
    """Return Σ w z^p over the nodes that are kept."""
    nodes, weights = rule
    return np.array([(weights * keep * nodes**p).sum() for p in range(most + 1)])


@pytest.mark.parametrize("count", [1, 2, 3, 5, 9, 13])
def test_gauss_s_rule_is_exact_to_degree_twice_its_nodes_less_one(count):
    nodes, weights = normal_rule(count)
    assert weights.sum() == pytest.approx(1, abs=1e-14)
    for power in range(2 * count):
        scale = weights @ np.abs(nodes) ** power  # what rounding is relative to
        assert weights @ nodes**power == pytest.approx(normal_moment(power), abs=1e-12 * scale)
    # One degree further it misses the square of the polynomial that vanishes at its nodes, n!.
    missed = normal_moment(2 * count) - weights @ nodes ** (2 * count)
    assert missed == pytest.approx(factorial(count), rel=1e-8)


@pytest.mark.parametrize("count", [3, 4, 6, 8])
@pytest.mark.parametrize("cut", [0.0, 0.3, -1.7, 3.0])
def test_each_side_of_a_cut_is_exact_to_its_own_degree(count, cut):
    """The Lanczos process on 400 Legendre nodes keeps twelve digits of these moments."""
    rule = split_normal_rule(count, cut)
    most = 2 * count - 1
    above = moments_above(cut, most)
    whole = np.array([normal_moment(p) for p in range(most + 1)])
    size = np.array([rule[1] @ np.abs(rule[0]) ** p for p in range(most + 1)])
    found = partial_moments(rule, rule[0] > cut, most)
    np.testing.assert_array_less(np.abs(found - above), 1e-10 * size)
    found = partial_moments(rule, rule[0] < cut, most)
    np.testing.assert_array_less(np.abs(found - (whole - above)), 1e-10 * size)
    # Negative control: Gauss's rule of the whole line, of as many nodes, misses the half.
    plain = normal_rule(2 * count)
    missed = partial_moments(plain, plain[0] > cut, 1)
    assert abs(missed[1] - above[1]) > 1e-4


def test_the_half_range_rule_is_symmetric_and_makes_a_kink_at_zero_exact():
    nodes, weights = half_range_rule(4)
    np.testing.assert_allclose(nodes, -nodes[::-1], atol=1e-13)
    np.testing.assert_allclose(weights, weights[::-1], rtol=1e-11)
    relu = weights @ np.maximum(nodes, 0.0)
    assert relu == pytest.approx(1 / np.sqrt(2 * np.pi), rel=1e-11)
    plain_nodes, plain = normal_rule(8)
    assert abs(plain @ np.maximum(plain_nodes, 0.0) / relu - 1) > 1e-3


@pytest.mark.parametrize("cuts", [(-0.2, 0.0, 0.2), (0.9,), (-5.0, 1.0), (-3.1, 0.1, 0.2, 6.0)])
def test_panels_are_exact_each_to_its_own_degree(cuts):
    counts = tuple(3 + i % 3 for i in range(len(cuts) + 1))
    rule = panel_rule(cuts, counts)
    assert len(rule[0]) == sum(counts)
    assert np.all(rule[1] > 0)
    edges = (-12.0, *cuts, 12.0)
    for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True):
        most = 2 * count - 1
        exact = moments_above(low, most) - moments_above(high, most)
        found = partial_moments(rule, (rule[0] > low) & (rule[0] < high), most)
        size = np.array([rule[1] @ np.abs(rule[0]) ** p for p in range(most + 1)])
        np.testing.assert_array_less(np.abs(found - exact), 1e-10 * size)


def test_a_product_of_rules_has_products_of_moments():
    nodes, weights = product_rule([normal_rule(3), half_range_rule(2), normal_rule(1)])
    assert nodes.shape == (12, 3)
    assert weights.sum() == pytest.approx(1, abs=1e-14)
    assert weights @ (nodes[:, 0] ** 4 * nodes[:, 1] ** 2) == pytest.approx(3, rel=1e-12)
    half = 1 / np.sqrt(2 * np.pi)
    assert weights @ (nodes[:, 0] ** 2 * np.maximum(nodes[:, 1], 0)) == pytest.approx(half)
    empty, one = product_rule([])
    assert empty.shape == (1, 0)
    assert one.tolist() == [1.0]


@pytest.mark.parametrize("coordinates", [3, 4, 6, 8])
def test_stroud_s_rule_has_degree_five_and_positive_weights(coordinates):
    rule = stroud_rule(coordinates)
    assert len(rule[1]) == 2**coordinates + 2 * coordinates
    assert np.all(rule[1] > 0)
    for degree in range(6):
        assert deviation_in_degree(rule, degree) < 1e-13
    assert deviation_in_degree(rule, 6) > 0.01


@pytest.mark.parametrize("coordinates", [1, 3, 12])
def test_the_cross_rule_is_exact_to_degree_three(coordinates):
    rule = cross_rule(coordinates)
    for degree in range(4):
        assert deviation_in_degree(rule, degree) < 1e-13
    assert deviation_in_degree(rule, 4) > 0.01
