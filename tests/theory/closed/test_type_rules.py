"""Nodes of coordinates: enough for their strength, few where they are many, said where fewer."""

from itertools import pairwise

import numpy as np
import pytest

from onegrad.theory.closed.acceleration import accelerated
from onegrad.theory.closed.feature_grid import Pairs, factors
from onegrad.theory.closed.type_rules import Coordinate, joint_rule


def second_moments(rule):
    return (rule.nodes.T * rule.weights) @ rule.nodes


@pytest.mark.parametrize(
    "strengths", [[], [0.05], [0.1, 0.9], [0.02] * 5, [0.2] * 6, [0.9, 0.05, 0.05, 0.05, 1.5]]
)
@pytest.mark.parametrize("most", [100, 5000])
def test_every_rule_has_mean_zero_and_covariance_one(strengths, most):
    """Nodes of weight below 1e−7 are left out, which costs their number times that, squared far."""
    rule = joint_rule([Coordinate(strength) for strength in strengths], most)
    assert rule.weights.sum() == pytest.approx(1, abs=1e-12)
    assert np.all(rule.weights > 0)
    np.testing.assert_allclose(rule.weights @ rule.nodes, 0, atol=1e-9)
    np.testing.assert_allclose(second_moments(rule), np.eye(len(strengths)), atol=1e-3)


@pytest.mark.parametrize("strength", [0.1, 0.3, 0.8, 1.5, 3.0, 30.0])
def test_a_kink_at_the_cut_is_met_exactly_at_any_strength(strength):
    for cut in (0.0, 0.7):
        rule = joint_rule([Coordinate(strength, cut)], 1000)
        kinked = rule.weights @ np.maximum(rule.nodes[:, 0] - cut, 0.0)
        density = np.exp(-(cut**2) / 2) / np.sqrt(2 * np.pi)
        tail = {0.0: 0.5, 0.7: 0.24196365222307303}[cut]
        assert kinked == pytest.approx(density - cut * tail, abs=1e-7)


@pytest.mark.parametrize("strength", [0.3, 1.0, 3.0, 30.0])
def test_nodes_resolve_a_smooth_bend_of_the_strength_they_are_made_for(strength):
    """E tanh(strength·z)², a feature's power; a hundred times as many nodes are the truth."""
    rule = joint_rule([Coordinate(strength, 0.0)], 1000)
    fine = np.linspace(-10, 10, 20001)
    weights = np.exp(-(fine**2) / 2)
    truth = weights @ np.tanh(strength * fine) ** 2 / weights.sum()
    found = rule.weights @ np.tanh(strength * rule.nodes[:, 0]) ** 2
    assert found == pytest.approx(truth, abs=3e-3)
    nodes, weights = Coordinate(strength).rule(2)  # negative control: two nodes do not
    assert abs(weights @ np.tanh(strength * nodes) ** 2 - truth) > 3e-3


def test_a_rule_with_too_few_nodes_says_so_and_others_do_not():
    strong = [Coordinate(1.5, 0.0)] * 3
    assert not joint_rule(strong[:1], 300).coarse
    crowded = joint_rule(strong, 200)
    assert crowded.coarse
    assert len(crowded.weights) <= 8**3  # four nodes a side are the fewest
    assert not joint_rule([Coordinate(0.05)] * 8, 300).coarse
    assert joint_rule([Coordinate(0.3)] * 9, 300).coarse


def test_stronger_coordinates_have_no_fewer_nodes():
    for cut in (None, 0.0):
        counts = [Coordinate(s, cut).total for s in np.geomspace(0.01, 10, 60)]
        assert all(a <= b for a, b in pairwise(counts))
    assert Coordinate(0.01, 0.0, least=8).count == 8


def test_factors_give_the_matrix_back_and_drop_what_is_small(rng):
    rows, columns = rng.uniform(0.1, 1, 12), rng.uniform(0.1, 1, 7)
    matrix = rng.standard_normal((12, 3)) @ rng.standard_normal((3, 7))
    for given, p, q in ((matrix, rows, columns), (matrix.T, columns, rows)):
        left, right = factors(given, p, q, 1e-9, 30)
        assert left.shape[1] == 3
        np.testing.assert_allclose(left @ right.T, given, atol=1e-6)
    left, right = factors(matrix, rows, columns, 1e-9, 1)
    assert left.shape[1] == 1
    zero = factors(np.zeros((4, 3)), np.ones(4) / 4, np.ones(3) / 3, 1e-9, 5)
    assert np.all(zero[0] @ zero[1].T == 0)


def test_pairs_are_symmetric_matrices(rng):
    pairs = Pairs(4)
    x = rng.standard_normal((5, 4))
    matrix = rng.standard_normal((4, 4))
    matrix = matrix + matrix.T
    np.testing.assert_allclose(
        pairs.products(x) @ pairs.form(matrix), np.einsum("ti,ij,tj->t", x, matrix, x)
    )
    np.testing.assert_allclose(pairs.matrix(pairs.products(x))[2], np.outer(x[2], x[2]))


def test_accelerated_rows_do_not_depend_on_their_company(rng):
    matrices = 0.9 * np.stack([np.linalg.qr(rng.standard_normal((5, 5)))[0] for _ in range(3)])
    shifts = rng.standard_normal((3, 5))

    def image(x, chosen):
        return np.einsum("bij,bj->bi", matrices[chosen], x) + shifts[chosen]

    x, iterations, residual = accelerated(image, np.zeros((3, 5)), tolerance=1e-12, most=100)
    exact = np.linalg.solve(np.eye(5) - matrices, shifts[..., None])[..., 0]
    np.testing.assert_allclose(x, exact, rtol=1e-8)
    assert residual < 1e-12
    plain = np.log(1e-12) / np.log(0.9)  # iterations without acceleration
    assert iterations < plain / 4
    for i in range(3):
        alone, *_ = accelerated(
            lambda x, chosen, i=i: image(x, chosen + i), np.zeros((1, 5)), tolerance=1e-12, most=100
        )
        np.testing.assert_allclose(alone[0], x[i], rtol=1e-9)
    _, most, left = accelerated(image, np.zeros((3, 5)), tolerance=1e-12, most=3)
    assert most == 3
    assert left > 1e-12


def test_many_strong_coordinates_are_scattered_and_say_so():
    """A product of their rules would have 2^d · 3^d nodes; scattered points keep second moments."""
    strong = [Coordinate(1.0, 0.0) for _ in range(5)]
    rule = joint_rule(strong, 150)
    assert rule.coarse
    assert len(rule.weights) <= 400
    np.testing.assert_allclose(rule.weights.sum(), 1.0)
    np.testing.assert_allclose(rule.weights @ rule.nodes, 0.0, atol=1e-12)
    second = (rule.nodes * rule.weights[:, None]).T @ rule.nodes
    np.testing.assert_allclose(second, np.eye(5), atol=1e-12)
    # E max(z, 0) = 1/√(2π) along every coordinate, to what 384 points give.
    mean = rule.weights @ np.maximum(rule.nodes, 0.0)
    np.testing.assert_allclose(mean, 1 / np.sqrt(2 * np.pi), rtol=0.02)
    # What the label reads keeps a rule of its own, exact to its degree.
    read = joint_rule([Coordinate(1.0, 0.0, read=True), *strong], 150)
    np.testing.assert_allclose(
        read.weights @ np.maximum(read.nodes[:, 0], 0.0), 1 / np.sqrt(2 * np.pi), rtol=1e-10
    )
