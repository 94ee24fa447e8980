"""Nodes of coordinates: enough for their strength, few where they are many, said where fewer."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import ndtr

from onegrad.calculus.fixed_point import accelerated
from onegrad.closed.feature_grid import Pairs, factors
from onegrad.closed.nodes import FAINT, Coordinate, joint_rule


def second_moments(rule):
    return (rule.nodes.T * rule.weights) @ rule.nodes


@pytest.mark.parametrize(
    "strengths", [[], [0.05], [0.1, 0.9], [0.02] * 5, [0.2] * 6, [0.9, 0.05, 0.05, 0.05, 1.5]]
)
@pytest.mark.parametrize("most", [100, 5000])
def test_every_rule_has_mean_zero_and_covariance_one(strengths, most):
    """Nodes of weight below 1e−7 are left out, which costs their number times that, squared far.

    Signs of faint coordinates change from node to node: products of two vanish to a hundredth,
    which is as nothing beside their strengths' product, 0.0064 at the most.
    """
    rule = joint_rule([Coordinate(strength) for strength in strengths], most)
    assert rule.weights.sum() == pytest.approx(1, abs=1e-12)
    assert np.all(rule.weights > 0)
    np.testing.assert_allclose(rule.weights @ rule.nodes, 0, atol=1e-9)
    faint = np.array([strength < FAINT for strength in strengths], bool)
    allowed = np.where(np.outer(faint, faint) & ~np.eye(len(strengths), dtype=bool), 0.01, 1e-3)
    assert np.all(np.abs(second_moments(rule) - np.eye(len(strengths))) <= allowed)


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


def test_factors_of_a_large_matrix_are_those_of_all_its_eigenvectors(rng, monkeypatch):
    """Features fall off as e^{−j}; from 200 rows on a subspace finds the leading ones."""
    rows, columns = rng.uniform(0.1, 1, 500), rng.uniform(0.1, 1, 300)
    left, right = rng.standard_normal((500, 60)), rng.standard_normal((300, 60))
    matrix = (left * np.exp(-np.arange(60.0) / 2)) @ right.T
    found = factors(matrix, rows, columns, 1e-9, 30)
    monkeypatch.setattr("onegrad.closed.feature_grid.LARGE", 10**6)
    exact = factors(matrix, rows, columns, 1e-9, 30)
    assert found[0].shape == exact[0].shape
    scale = np.abs(matrix).max()
    np.testing.assert_allclose(found[0] @ found[1].T, exact[0] @ exact[1].T, atol=1e-7 * scale)
    few = factors(matrix, rows, columns, 1e-9, 3)  # negative control
    assert np.abs(few[0] @ few[1].T - matrix).max() > 1e-3 * scale


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
    strong = [Coordinate(1.0, 0.0) for _ in range(9)]
    rule = joint_rule(strong, 150)
    assert rule.coarse
    assert len(rule.weights) <= 400
    np.testing.assert_allclose(rule.weights.sum(), 1.0)
    np.testing.assert_allclose(rule.weights @ rule.nodes, 0.0, atol=1e-12)
    np.testing.assert_allclose(second_moments(rule), np.eye(9), atol=1e-12)
    # E max(z, 0) = 1/√(2π) along every coordinate, to what 384 points give.
    mean = rule.weights @ np.maximum(rule.nodes, 0.0)
    np.testing.assert_allclose(mean, 1 / np.sqrt(2 * np.pi), rtol=0.02)
    # What the label reads keeps a rule of its own, exact to its degree.
    read = joint_rule([Coordinate(1.0, 0.0, read=True), *strong], 150)
    np.testing.assert_allclose(
        read.weights @ np.maximum(read.nodes[:, 0], 0.0), 1 / np.sqrt(2 * np.pi), rtol=1e-10
    )


@pytest.mark.parametrize(("strength", "coarse"), [(0.5, False), (1.0, True)])
def test_three_strong_coordinates_share_directions_beside_faint_ones(strength, coarse):
    """As samples of a component with three spikes, beside another's: 384 points were coarse."""
    alike, faint = [Coordinate(strength, 0.0)] * 3, [Coordinate(0.05)] * 3
    rule = joint_rule([*alike, *faint], 150)
    assert len(rule.weights) == 2 * 3 * 26  # signs, lengths, directions
    assert rule.coarse is coarse
    u = np.array([1.0, 1.0, -1.0]) / np.sqrt(3)
    found = rule.weights @ np.tanh(strength * rule.nodes[:, :3] @ u) ** 2
    fine, shares = Coordinate(strength, 0.0).rule(30)
    assert found == pytest.approx(shares @ np.tanh(strength * fine) ** 2, rel=0.02)
    read = joint_rule([Coordinate(1.0, 0.0, read=True), *alike[:2], *faint], 150)
    kinked = read.weights @ np.maximum(read.nodes[:, 0], 0.0)
    assert kinked == pytest.approx(1 / np.sqrt(2 * np.pi), rel=1e-9)


@pytest.mark.parametrize("steepness", [1.0, 3.0, 10.0, 30.0])
def test_nodes_about_a_change_of_sign_see_rates_of_any_size(steepness):
    """E Φ(−c|z|) = arctan(1/c)/π: wrong signs of an output with c times its noise as slope."""
    rate = np.arctan(1 / steepness) / np.pi
    nodes, weights = Coordinate(0.5, 0.0, sharp=True).rule(10)
    assert weights @ ndtr(-steepness * np.abs(nodes)) == pytest.approx(rate, rel=0.03)
    if steepness > 3:  # negative control: four nodes a side, enough for mean and power
        nodes, weights = Coordinate(0.5, 0.0).rule(4)
        assert abs(weights @ ndtr(-steepness * np.abs(nodes)) / rate - 1) > 0.3
