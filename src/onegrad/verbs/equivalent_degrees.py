"""What `equivalence` returns: the gap of every Hermite degree, and how it decays with n."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from onegrad.verbs.decay_fit import DecayFit
from onegrad.verbs.degree_reason import Scale
from onegrad.verbs.errors import Errors
from onegrad.verbs.methods import Method, draws_of, said_draws


@dataclass(frozen=True, repr=False)
class Equivalence:
    """The predicted gap of each Hermite degree to the network, and the degrees that follow.

    `smallest` is the lowest degree whose gap is within the tolerance, None if none is; `theorem` is
    ⌈β/(1 − β)⌉, without a cap, None at β ≥ 1, which the theorem does not cover. A higher degree is
    not always closer at finite n: `reason` says why where one is not, from the misfits in `scale`.
    For a list of dimensions everything is that of the largest; `sizes` has an `Equivalence` of each
    dimension and `decay` the exponent of each degree.
    """

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

    def __repr__(self) -> str:
        where = f"n = {self.dimension}, {self.metric} by {self.method!r}"
        head = (
            f"Equivalence: {where}, {said_draws(self.method, self.errors.trials, self.errors.seed)}"
        )
        lines = [head, self._table().to_string(index=False, float_format="%.4g", na_rep="-")]
        lines += [f"degree {fit.degree}: {fit.note}" for fit in self.decay if fit.note]
        return "\n".join([*lines, *([] if self.reason is None else [self.reason])])

    @property
    def dimension(self) -> int:
        """n, the largest where there are several."""
        return self.errors.problem.dimension

    @property
    def matches(self) -> tuple[bool, ...]:
        """Whether the gap of each degree is within the tolerance."""
        return tuple(abs(gap) <= self.tolerance for gap in self.gaps)

    def _table(self) -> pd.DataFrame:
        """Return a line per degree: its gap, or that in every dimension and the exponent."""
        if not self.sizes:
            return self.to_frame().drop(columns="dimension")
        columns: dict[str, Any] = {"degree": self.degrees}
        columns |= {f"gap n={size.dimension}": size.gaps for size in self.sizes}
        columns["exponent"] = [_number(fit.exponent) for fit in self.decay]
        columns["exponent_stderr"] = [_number(fit.stderr) for fit in self.decay]
        return pd.DataFrame(columns)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per dimension and degree: the gap, whether it matches, the misfit."""
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


def _number(value: float | None) -> float:
    return np.nan if value is None else value
