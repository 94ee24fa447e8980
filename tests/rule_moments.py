"""Moments of normal coordinates, and how far a quadrature rule is from them."""

from itertools import combinations_with_replacement

import numpy as np
from scipy.special import factorial2


def normal_moment(power):
    """Return E z^power."""
    return 0.0 if power % 2 else float(factorial2(power - 1, exact=True)) if power else 1.0


def deviation_in_degree(rule, degree):
    """Return the largest deviation of a moment of this degree, relative to the largest one."""
    nodes, weights = rule
    worst = 0.0
    for chosen in combinations_with_replacement(range(nodes.shape[1]), degree):
        exact = np.prod([normal_moment(chosen.count(j)) for j in set(chosen)])
        found = weights @ np.prod(nodes[:, list(chosen)], axis=1)
        worst = max(worst, abs(found - exact))
    return worst / max(1.0, normal_moment(degree))
