"""Groups of bulk directions: free moments, Gauss's rule from moments, and drawn batches."""

from math import comb

import numpy as np
import pytest

from onegrad.closed.step import GROUPS, BulkGroups, bulk_groups, free_moments, gauss_from_moments


def narayana(ratio, power):
    """Return the moment of (1/m̃) Σ zzᵀ in N = ratio·m̃ dimensions: Marchenko and Pastur's law."""
    return sum(
        comb(power, j) * comb(power, j - 1) / power * ratio ** (j - 1) for j in range(1, power + 1)
    )


@pytest.mark.parametrize("ratio", [0.1, 1.0, 4.0])
def test_equal_residuals_have_marchenko_and_pastur_s_moments(ratio):
    moments = free_moments([ratio ** (p - 1) for p in range(1, 8)])
    exact = [1.0, *(narayana(ratio, p) for p in range(1, 8))]
    np.testing.assert_allclose(moments, exact, rtol=1e-12)
    nodes, weights = gauss_from_moments(moments)
    assert len(nodes) == 4
    # Eight moments lose about five digits on the way to four nodes.
    for p in range(8):
        assert weights @ nodes**p == pytest.approx(exact[p], rel=1e-8)
    assert np.all(weights > 0)
    edge = (1 + np.sqrt(ratio)) ** 2
    assert np.all((nodes >= 0) & (nodes <= edge))


def test_free_cumulants_of_one_number_are_its_moments():
    """A constant c has the single cumulant c; a semicircle of variance v has 0 and v."""
    np.testing.assert_allclose(free_moments([2.0, 0, 0]), [1, 2, 4, 8])
    np.testing.assert_allclose(free_moments([0, 3.0, 0, 0]), [1, 0, 3, 0, 2 * 9])


def test_a_law_of_few_points_has_no_more_nodes():
    points, weights = np.array([0.5, 3.0]), np.array([0.8, 0.2])
    moments = np.array([weights @ points**p for p in range(8)])
    nodes, shares = gauss_from_moments(moments)
    np.testing.assert_allclose(nodes, points, rtol=1e-8)
    np.testing.assert_allclose(shares, weights, rtol=1e-8)


@pytest.mark.parametrize("ratio", [0.5, 3.0])
def test_groups_are_the_spectrum_of_a_drawn_batch(ratio, rng):
    """Moments of (1/m̃) Σ r² zzᵀ/E r² at N = 400; single entries deviate by 1/√m̃, traces by less.

    The fourth moment of r² is heavy: the same r are given to both sides.
    """
    n = 400
    m = int(n / ratio)
    r = np.tanh(rng.standard_normal(m)) + 0.3
    z = rng.standard_normal((m, n))
    groups = bulk_groups((r[None], np.full((1, m), 1 / m)), 0.0, n / m)
    matrix = (z.T * (r**2 / np.mean(r**2))) @ z / m
    values = np.linalg.eigvalsh(matrix)
    assert groups.shares.sum() == pytest.approx(1)
    assert groups.shares @ groups.noise == pytest.approx(1, rel=1e-9)
    for power in (1, 2, 3):
        found = groups.shares @ groups.noise**power
        # The trace of a power of a Wishart matrix fluctuates by O(power²·√(ratio)/n).
        assert found == pytest.approx(np.mean(values**power), rel=4 * power**2 / n)
    single = narayana(n / m, 3)
    assert abs(single / np.mean(values**3) - 1) > 0.1  # residuals of one size have another law
    # A = (1/m̃) Σ r zzᵀ, centred, as far as it follows B.
    slope = (z.T * r) @ z / m
    slope -= np.trace(slope) / n * np.eye(n)
    covariance = np.sum(slope * matrix) / n
    assert groups.shares @ (groups.slope * groups.noise) == pytest.approx(covariance, rel=0.1)


def test_noise_is_part_of_the_residuals_power_and_no_residual_is_one_group():
    r, w = np.array([[1.0, -1.0]]), np.array([[0.5, 0.5]])
    np.testing.assert_allclose(
        bulk_groups((r, w), 0.0, 2.0).noise, bulk_groups((3 * r, w), 0.0, 2.0).noise, rtol=1e-9
    )
    assert np.all(bulk_groups((r, w), 0.0, 2.0).slope == 0)  # signs that cancel
    assert np.any(bulk_groups((r + 2, w), 0.0, 2.0).slope != 0)
    none = bulk_groups((0 * r, w), 0.0, 2.0)
    assert len(none.shares) == len(BulkGroups.one().shares) == 1
    assert len(bulk_groups((0 * r, w), 1.0, 2.0).shares) == GROUPS
