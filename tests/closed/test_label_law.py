"""Moments of labels given the type of a sample, by closed forms and by drawing."""

import numpy as np
import pytest
from scipy.special import ndtr

from onegrad.calculus import functions
from onegrad.closed.label_law import LabelLaw

CENTRES = np.linspace(-25, 25, 41)


def moments(law, deviation=1.0, labels=None):
    size = len(CENTRES)
    return law.moments(
        CENTRES, np.full(size, deviation), np.zeros(size) if labels is None else labels
    )


@pytest.mark.parametrize("deviation", [0.05, 1.0, 4.0])
def test_a_kinked_link_has_its_moments_however_far_the_kink_is(deviation):
    """y = max(u, 0): E y, E[y z] = deviation·P(u > 0) and E y², from the normal law."""
    found = moments(LabelLaw(functions.get("relu", field="link")), deviation)
    t = CENTRES / deviation
    share, density = ndtr(t), np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi)
    first = CENTRES * share + deviation * density
    second = (CENTRES**2 + deviation**2) * share + CENTRES * deviation * density
    size = np.maximum(np.abs(CENTRES), deviation)  # 24 nodes over 14 deviations: 1e−7 of it
    np.testing.assert_allclose(found(0), 1, rtol=1e-7)
    np.testing.assert_allclose(found(0, 2), 1, rtol=1e-6)
    assert np.all(np.abs(found(1) - first) < 1e-7 * size)
    assert np.all(np.abs(found(1, 1) - deviation * share) < 1e-6 * size)
    assert np.all(np.abs(found(2) - second) < 1e-6 * size**2)


def test_a_smooth_link_has_its_moments():
    """E sin(c + s z) = e^{−s²/2} sin c, and E sin² from the double angle."""
    found = moments(LabelLaw(functions.get("sin", field="link")), 1.3)
    damped = np.exp(-(1.3**2) / 2)
    np.testing.assert_allclose(found(1), damped * np.sin(CENTRES), atol=1e-9)
    np.testing.assert_allclose(found(1, 1), 1.3 * damped * np.cos(CENTRES), atol=1e-9)
    exact = 0.5 - 0.5 * np.exp(-2 * 1.3**2) * np.cos(2 * CENTRES)
    np.testing.assert_allclose(found(2), exact, atol=1e-9)


def test_noise_signs_and_flips_have_their_powers():
    labels = np.where(CENTRES < 0, -1.0, 2.0)
    noisy = moments(LabelLaw(noise=0.5), labels=labels)
    np.testing.assert_allclose(noisy(2), labels**2 + 0.25)
    np.testing.assert_allclose(noisy(3), labels**3 + 3 * labels * 0.25)
    np.testing.assert_allclose(noisy(4), labels**4 + 6 * labels**2 * 0.25 + 3 * 0.0625)
    flipped = moments(LabelLaw(flips=0.1), labels=labels)
    np.testing.assert_allclose(flipped(1), 0.8 * labels)
    np.testing.assert_allclose(flipped(2), labels**2)
    np.testing.assert_allclose(flipped(3), 0.8 * labels**3)
    signs = moments(LabelLaw(functions.get("tanh", field="link"), signs=True))
    np.testing.assert_allclose(signs(2), 1, rtol=1e-8)
    np.testing.assert_allclose(signs(3), signs(1))


def test_less_a_shift_are_the_moments_of_the_shifted_label(rng):
    labels, shift = rng.standard_normal(len(CENTRES)), rng.standard_normal(len(CENTRES))
    found = moments(LabelLaw(noise=0.3), labels=labels).less(shift)
    direct = moments(LabelLaw(noise=0.3), labels=labels - shift)
    for power in range(5):
        np.testing.assert_allclose(found(power), direct(power), rtol=1e-9, atol=1e-9)
