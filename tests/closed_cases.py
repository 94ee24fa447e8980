"""What the tests of theory without draws share: grids made by hand, and paired comparisons."""

import numpy as np

from onegrad.closed.feature_grid import FeatureGrid
from onegrad.closed.label_law import LabelMoments


def label_moments(first, along, square):
    """Return moments with E y, E[y z] and E y² alone, which is all that readouts ask for."""
    table = np.zeros((5, 3, len(first)))
    table[0, 0] = table[0, 2] = 1.0
    table[1, 0], table[1, 1], table[2, 0] = first, along, square
    return LabelMoments(table)


def one_type(*, bulk, mean=0.0, linear=0.7, own=0.4, first=0.0, along=0.5, square=1.0):
    """Return the grid of one type of sample and one of neuron."""
    one = np.ones((1, 1))
    return FeatureGrid(
        np.ones(1),
        np.ones(1),
        linear * one,
        one,
        (mean * one, 0.0 * one),
        one,
        own * one,
        bulk,
        np.ones(1),
        one,
        label_moments([first], [along], [square]),
        np.zeros(1, dtype=int),
        0.0,
    )


def many_types(rng, *, samples=9, neurons=7, groups=2, linear=2, modes=3, components=2, bulk=60):
    """Return a grid with everything in it: types, groups, modes of both kinds, components."""
    p, pi = rng.uniform(0.5, 2, samples), rng.uniform(0.5, 2, neurons)
    shares = rng.uniform(0.5, 2, groups)
    shares /= shares.sum()
    profile = rng.uniform(0.3, 2, (groups, neurons))
    first = rng.normal(0, 0.5, samples)
    along = rng.normal(0, 0.5, samples)
    return FeatureGrid(
        p / p.sum(),
        pi / pi.sum(),
        rng.normal(0, 0.6, (samples, linear)),
        rng.normal(0, 0.6, (neurons, linear)),
        (rng.normal(0, 0.5, (samples, modes)), rng.normal(0, 0.1, (samples, modes))),
        rng.normal(0, 0.5, (neurons, modes)),
        rng.uniform(0.1, 0.6, (samples, neurons)),
        bulk,
        shares,
        profile / (shares @ profile),
        label_moments(first, along, first**2 + along**2 + rng.uniform(0.1, 0.5, samples)),
        np.arange(samples) % components,
        0.0,
    )
