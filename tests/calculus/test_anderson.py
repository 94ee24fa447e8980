"""Fixed points by Anderson's acceleration."""

import numpy as np
import pytest

from onegrad.calculus import fixed_point as anderson
from onegrad.calculus.fixed_point import fixed_point


def steep(x):
    """Return a map that falls four times as fast as x rises: damped by 0.7 it cycles around 1."""
    return 1 - 40 * np.tanh((x - 1) / 10), np.ones_like(x)


def test_a_fixed_point_is_found_in_few_steps(rng):
    matrix = rng.normal(0, 0.1, (20, 20))
    wanted = rng.standard_normal(20)

    def image(x):
        return wanted + matrix @ (x - wanted), np.ones(20)

    x, iterations, residual = fixed_point(image, np.zeros(20), tolerance=1e-10, most=100)
    assert residual < 1e-10
    assert iterations < 30
    np.testing.assert_allclose(x, wanted, atol=1e-9)


def test_a_cycle_is_left(monkeypatch):
    how = {"tolerance": 1e-10, "most": 300}
    x, iterations, residual = fixed_point(steep, np.full(3, 2.0), **how)
    assert residual < 1e-10
    assert iterations > anderson.PATIENCE
    assert x == pytest.approx(np.ones(3))
    # Negative control: with the damping that it starts with it never ends.
    monkeypatch.setattr(anderson, "PATIENCE", 1000)
    assert fixed_point(steep, np.full(3, 2.0), **how)[2] > 1
