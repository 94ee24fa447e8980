"""What a teacher is: how a label follows from an input, and the registry of its kinds.

A teacher of your own is a description (a subclass of `TeacherDescription`) whose `draw` returns a
`Teacher`; `register_teacher` makes it known to problems, files and workers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from onegrad.calculus.function import Function
from onegrad.data.mixture import Gaussian
from onegrad.data.population import Population
from onegrad.data.source import Source
from onegrad.describe.arrays import Floats
from onegrad.describe.fields import control
from onegrad.describe.kinds import Kinds
from onegrad.describe.registry import Registry
from onegrad.describe.value import Value

# How the explorer shows what several teachers have.
NOISE_CONTROL = control(
    label="Label noise",
    symbol="δ",
    sentence="How much random error labels have.",
    low=0,
    high=1,
    main=True,
)
FLIPS_CONTROL = control(
    label="Wrong labels", sentence="Share of labels with the wrong sign.", main=True
)


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
        """Return the variance of ξᵀx under one component, summed over the directions."""

    def labels(self, projections: Floats, component: int, rng: np.random.Generator) -> Floats:
        """Return y for rows of projections (rows × r) that come from one component."""

    def coefficients(self, gaussian: Gaussian, order: int) -> Floats:
        """Return ĝ_l = E[y H_l(standardised ξᵀx)]/√l! under one component, l ≤ order; r ≤ 1."""

    def second_moment(self, gaussian: Gaussian) -> float:
        """Return E[y²] under one component, noise included."""

    def linear_part(self, gaussian: Gaussian) -> tuple[float, Floats]:
        """Return E[y] and q with Cov(y, cᵀx) = cᵀΣ_cΞq for every c, under one component.

        With v = Ξᵀx of covariance S, q = S⁻¹E[(v − E v) y] (Stein). Sums of teachers need it.
        """

    def has_finite_power(self, gaussian: Gaussian) -> bool:
        """Return whether E[y²] is finite under one component."""

    def coefficients_at(self, means: Floats, deviations: Floats, order: int) -> Floats:
        """Return E[y H_l(z)]/√l! where the projection is means + deviations·z; needs r = 1."""

    def second_moment_at(self, means: Floats, deviations: Floats) -> Floats:
        """Return E[y²] there, noise included."""


@runtime_checkable
class ExpectedSigns(Protocol):
    """A teacher of labels ±1 that knows how likely they are; others are asked for drawn labels."""

    def expected_labels(self, projections: Floats, component: int) -> Floats:
        """Return E[y | x] of rows of one component: flips are in it, additive noise is not."""


class TeacherDescription(Value):
    """A description of how labels are made. Only `kind` and `draw` must be given.

    `reads_labels` says that labels are those of the data's parts.
    """

    reads_labels: ClassVar[bool] = False

    kind: str

    def draw(self, population: Population, norm: float, rng: np.random.Generator) -> Teacher:
        """Return the teacher of one trial; `norm` is ‖Σ‖."""
        raise NotImplementedError(f"a teacher of kind {self.kind!r} must define draw")

    def check(self, source: Source, dimension: int) -> None:
        """Raise ValueError where the teacher does not fit these data."""

    def is_binary(self, source: Source) -> bool:
        """Return whether labels are ±1 but for additive noise, so that errors can be counted."""
        return False

    @classmethod
    def complete(cls, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return a problem's fields with what follows from the teacher where nothing is said."""
        return dict(fields)

    @property
    def functions(self) -> tuple[str, ...]:
        """The names or formulas of the functions that the teacher uses."""
        return ()


def _guess(fields: dict[str, Any]) -> str:
    """Return the kind of fields that do not say it: who names links means several directions."""
    return "indices" if "links" in fields else "index"


TEACHERS: Kinds[TeacherDescription] = Kinds(
    TeacherDescription, Registry("teachers", {}, home=__name__), _guess
)


def register_teacher(description: type[TeacherDescription]) -> type[TeacherDescription]:
    """Return your own teacher class after making its kind known; use it as a decorator."""
    return TEACHERS.register(description)
