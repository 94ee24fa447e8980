"""Tables of expectations against quadrature."""

import numpy as np
import pytest

from onegrad.calculus import functions
from onegrad.calculus.expectation_tables import tabulated_coefficients
from onegrad.calculus.expectations import TABLE_FROM, hermite_coefficients, second_moment


def spread_means(count):
    rng = np.random.default_rng(0)
    deviations = np.tile(rng.uniform(0.7, 1.4, 100), count // 100)
    return 4 * rng.standard_normal(count), deviations


@pytest.mark.parametrize("name", ["tanh", "gelu", "abs(z)"])
def test_many_means_have_the_coefficients_of_few(name):
    activation = functions.get(name)
    means, deviations = spread_means(8 * TABLE_FROM)
    few = np.random.default_rng(1).choice(len(means), 200)
    ours = hermite_coefficients(activation, means, deviations, order=6)[:, few]
    exact = hermite_coefficients(activation, means[few], deviations[few], order=6)
    np.testing.assert_allclose(ours, exact, atol=1e-10)
    power = second_moment(activation, means, deviations)[few]
    np.testing.assert_allclose(
        power, second_moment(activation, means[few], deviations[few]), atol=1e-10
    )


def test_a_table_that_would_be_larger_than_its_use_is_declined():
    def refuse(means, deviations, order):
        raise AssertionError("nothing should be computed")

    means, deviations = spread_means(1000)
    assert tabulated_coefficients(refuse, means, deviations, 6) is None
    assert tabulated_coefficients(refuse, 1e6 * means, deviations, 6) is None
