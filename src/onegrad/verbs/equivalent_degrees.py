"""What `equivalence` returns: the gap of every Hermite degree, and how it decays with n."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from onegrad.describe.checks import (
    any_number,
    listed,
    of_kind,
    one_of,
    real_number,
    shown,
    text,
    whole_number,
    whole_numbers,
)
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.extras import require_extra
from onegrad.describe.kept_result import KeptResult
from onegrad.describe.screen import OnScreen, ScreenTable
from onegrad.moments.polynomial_misfit import Misfit
from onegrad.verbs.decay_fit import DecayFit, decay_factor
from onegrad.verbs.degree_reason import Scale
from onegrad.verbs.equivalence_table import equivalence_table
from onegrad.verbs.errors import Errors
from onegrad.verbs.methods import Method, draws_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from onegrad.plotting.result_curves import DecayLine


@dataclass(frozen=True, repr=False, eq=False)
class Equivalence(OnScreen, KeptResult):
    """The predicted gap of each Hermite degree to the network, and the degrees that follow.

    `smallest` is the lowest degree whose gap is within the tolerance, None if none is; `theorem` is
    ⌈β/(1 − β)⌉ of [1], without a cap, None at β ≥ 1, which the theorem does not cover. A higher
    degree is not always closer at finite n: `reason` says why where one is not, from the misfits in
    `scale`.
    For a list of dimensions everything is that of the largest; `sizes` has an `Equivalence` of each
    dimension and `decay` the exponent of each degree.
    """

    kept_parts = (Errors, DecayFit, Scale, Misfit)

    errors: Errors
    degrees: tuple[int, ...]
    gaps: tuple[float, ...]
    stderrs: tuple[float, ...]
    tolerance: float
    smallest: int | None
    theorem: int | None
    strength: float
    metric: str
    method: Method
    scale: Scale
    reason: str | None
    sizes: tuple[Equivalence, ...] = ()
    decay: tuple[DecayFit, ...] = ()

    def __post_init__(self) -> None:
        of_kind("errors", self.errors, Errors, remedy="use equivalence")
        degrees = whole_numbers("degrees", self.degrees, least=0)
        for name in ("gaps", "stderrs"):
            numbers = [any_number(name, value) for value in listed(name, getattr(self, name))]
            if len(numbers) != len(degrees):
                raise InvalidInput(
                    f"{name}={shown(numbers)}: must have one number per degree; use equivalence"
                )
        real_number("tolerance", self.tolerance)
        any_number("strength", self.strength)
        one_of("metric", self.metric, self.errors.metrics)
        text("method", self.method)
        of_kind("scale", self.scale, Scale, remedy="use equivalence")
        for name in ("smallest", "theorem"):
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name), least=0)
        if self.reason is not None:
            text("reason", self.reason)
        for name, kind in (("sizes", Equivalence), ("decay", DecayFit)):
            for part in of_kind(name, getattr(self, name), tuple, remedy="use equivalence"):
                of_kind(name, part, kind, remedy="use equivalence")

    def screen_table(self) -> ScreenTable:
        """Return a row per degree, as `onegrad equivalence` shows it."""
        return equivalence_table(self)

    @property
    def dimension(self) -> int:
        """n, the largest where there are several."""
        return self.errors.problem.dimension

    @property
    def matches(self) -> tuple[bool, ...]:
        """Whether the gap of each degree is within the tolerance."""
        return tuple(abs(gap) <= self.tolerance for gap in self.gaps)

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Return axes with |gap| by degree, or of several dimensions against n with its fits."""
        from onegrad.plotting.matplotlib_figure import draw_plot
        from onegrad.plotting.result_curves import decay_plot, gap_plot

        if not self.sizes:
            plot = gap_plot(self.to_frame(), tolerance=self.tolerance, theorem=self.theorem)
        else:
            plot = decay_plot(self.to_frame(), self._decay_lines())
        return draw_plot(plot, ax)

    def _decay_lines(self) -> list[DecayLine]:
        """Return the fits that were possible as lines."""
        from onegrad.plotting.result_curves import DecayLine

        lines = []
        for place, fit in enumerate(self.decay):
            if fit.exponent is None or fit.stderr is None:
                continue
            kept = [size for size in self.sizes if size.dimension in fit.dimensions]
            factor = decay_factor(
                fit.exponent,
                fit.dimensions,
                [size.gaps[place] for size in kept],
                [0.0 if size.method == "closed" else size.stderrs[place] for size in kept],
            )
            lines.append(DecayLine(fit.degree, fit.exponent, fit.stderr, factor, fit.dimensions))
        return lines

    def to_frame(self) -> pd.DataFrame:
        """Return a row per dimension and degree: the gap, whether it matches, the misfit."""
        require_extra("to_frame", "frames")
        import pandas as pd

        if self.sizes:
            return pd.concat([size.to_frame() for size in self.sizes], ignore_index=True)
        return pd.DataFrame(
            {
                "dimension": self.dimension,
                "degree": self.degrees,
                "gap": self.gaps,
                "stderr": self.stderrs,
                "matches": self.matches,
                "scale_error": [misfit.scale_error for misfit in self.scale.misfits],
                "nonlinear_power": [misfit.nonlinear_power for misfit in self.scale.misfits],
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        plain: dict[str, Any] = {
            "problem": self.errors.problem.to_dict(),
            "metric": self.metric,
            "method": self.method,
            **draws_of(self.method, self.errors.trials, self.errors.seed),
            "tolerance": self.tolerance,
            "degrees": list(self.degrees),
            "gap": self._gaps(),
            "scale_error": [_finite(misfit.scale_error) for misfit in self.scale.misfits],
            "nonlinear_power": [_finite(misfit.nonlinear_power) for misfit in self.scale.misfits],
            "smallest_degree": self.smallest,
            "theorem_degree": self.theorem,
            "strength": self.strength,
            "reason": self.reason,
        }
        if self.sizes:
            by_size = [{"dimension": size.dimension, "gap": size._gaps()} for size in self.sizes]
            plain["dimensions"] = by_size
            plain["decay"] = [fit.to_dict() for fit in self.decay]
        return plain

    def _gaps(self) -> list[dict[str, float | None]]:
        return [
            {"mean": _finite(gap), "stderr": _finite(stderr)}
            for gap, stderr in zip(self.gaps, self.stderrs, strict=True)
        ]


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
