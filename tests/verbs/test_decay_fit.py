"""The exponent of a gap against n: known answers, and what cannot be fitted."""

import numpy as np
import pytest

from onegrad.results.equivalence import fit_decay

N = np.array([100, 200, 400, 800])


@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("sign", [1, -1])
def test_an_exact_power_law_gives_its_exponent(exponent, sign):
    gaps = sign * 3.0 * N**-exponent
    fit = fit_decay(2, N, gaps, 0.1 * np.abs(gaps))
    assert fit.exponent == pytest.approx(exponent)
    # Equal relative errors: those of an ordinary line through log n.
    centred = np.log(N) - np.log(N).mean()
    assert fit.stderr == pytest.approx(0.1 / np.sqrt(centred @ centred))
    assert fit.dimensions == (100, 200, 400, 800)
    assert fit.note is None


def test_the_standard_error_covers_the_truth():
    """z = (p̂ − p)/stderr over 400 fits has deviation about 1; relative errors of 5 %."""
    rng = np.random.default_rng(0)
    truth = 2.0 / N
    z = []
    for _ in range(400):
        fit = fit_decay(1, N, truth * (1 + 0.05 * rng.standard_normal(4)), 0.05 * truth)
        z.append((fit.exponent - 1) / fit.stderr)
    # Enlarging by the scatter makes it smaller than 1; 4 standard errors of a deviation are .14.
    assert 0.65 < np.std(z) < 1.14
    assert abs(np.mean(z)) < 4 / np.sqrt(400)


def test_precise_points_count_more():
    gaps, errors = np.array([1.0, 0.5, 0.25, 0.25]), np.array([0.001, 0.001, 0.001, 0.12])
    assert fit_decay(1, N, gaps, errors).exponent == pytest.approx(1, abs=0.01)


def test_scatter_beyond_the_standard_errors_enlarges_that_of_the_exponent():
    gaps = np.array([1.0, 0.7, 0.2, 0.13])
    tight, loose = (fit_decay(1, N, gaps, size * gaps) for size in (0.001, 0.1))
    assert tight.exponent == pytest.approx(loose.exponent)
    assert tight.stderr == pytest.approx(loose.stderr, rel=0.7)
    assert tight.stderr > 0.1


def test_gaps_that_may_be_zero_are_left_out_and_named():
    fit = fit_decay(3, N, [1.0, 0.5, 0.25, 0.01], [0.01, 0.01, 0.01, 0.02])
    assert fit.exponent == pytest.approx(1)
    assert fit.dimensions == (100, 200, 400)
    assert fit.note == "gap within 2 standard errors of 0 at n = 800"


@pytest.mark.parametrize(
    ("gaps", "errors", "said"),
    [
        ([0.1, 0.01, 0.01, 0.01], 0.02, "one usable point: gap within 2 standard errors of 0 at"),
        ([0.0, 0.0, 0.0, 0.0], 0.0, "no usable point"),
        ([1e-15, 1e-14, 1e-13, 1e-15], 0.0, "no usable point"),
        ([0.1, 0.1, -0.1, -0.1], 0.01, "changes its sign"),
        ([0.1, 0.1, 0.1, 0.1], np.nan, "raise draws"),
        ([0.1, np.nan, 0.1, 0.1], 0.01, "without errors"),
    ],
)
def test_where_nothing_can_be_fitted_it_says_why(gaps, errors, said):
    fit = fit_decay(1, N, gaps, np.full(4, errors))
    assert fit.exponent is None
    assert fit.stderr is None
    assert said in fit.note
