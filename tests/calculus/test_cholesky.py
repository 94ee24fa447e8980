"""Ridge regression from a summed Gram matrix: the answer, and the error where there is none."""

import numpy as np
import pytest

from onegrad import InvalidInput
from onegrad.calculus.spectra import solve_ridge


def solve(gram, right, shift):
    lower = np.asfortranarray(np.tril(gram))
    return solve_ridge(lower, right, shift=shift, field="ridge=0", remedy="raise it")


def test_the_lower_triangle_alone_gives_the_solution(rng):
    features, right = rng.standard_normal((20, 6)), rng.standard_normal(6)
    gram = features.T @ features
    np.testing.assert_allclose(
        solve(gram, right, 0.3), np.linalg.solve(gram + 0.3 * np.eye(6), right), rtol=1e-12
    )


def test_a_singular_matrix_names_field_and_remedy_and_a_shift_heals_it():
    gram, right = np.zeros((2, 2)), np.ones(2)
    with pytest.raises(InvalidInput, match=r"ridge=0: the Gram matrix .* singular .*; raise it"):
        solve(gram, right, 0.0)
    assert solve(gram, right, 2.0) == pytest.approx([0.5, 0.5])
