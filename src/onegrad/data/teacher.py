"""What a teacher is: how a label follows from an input."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from onegrad.calculus.function import Function
from onegrad.data.mixture import Gaussian
from onegrad.describe.arrays import Floats


class Teacher(Protocol):
    """A drawn teacher. `directions` is n × r; the label depends on x through r projections."""

    @property
    def directions(self) -> Floats:
        """ξ as columns, n × r; r = 0 for class labels."""

    @property
    def noise(self) -> float:
        """δ, the deviation of additive label noise."""

    @property
    def link(self) -> Function | None:
        """The link function where the label is one function of one projection."""

    def projected_variance(self, gaussian: Gaussian) -> float:
        """Return the variance of ξᵀx under one component."""

    def labels(self, projections: Floats, component: int, rng: np.random.Generator) -> Floats:
        """Return y for rows of projections (rows × r) that come from one component."""

    def coefficients(self, gaussian: Gaussian, order: int) -> Floats:
        """Return ĝ_l = E[y H_l(standardised ξᵀx)]/√l! under one component, l ≤ order."""

    def second_moment(self, gaussian: Gaussian) -> float:
        """Return E[y²] under one component, noise included."""

    def has_finite_power(self, gaussian: Gaussian) -> bool:
        """Return whether E[y²] is finite under one component."""

    def local_coefficients(self, means: Floats, deviations: Floats, order: int) -> Floats:
        """Return E[y H_l(z)]/√l! where the projection is means + deviations·z; needs r = 1."""

    def local_second_moment(self, means: Floats, deviations: Floats) -> Floats:
        """Return E[y²] there, noise included."""
