"""The result of `equivalence`: the gap of every Hermite degree, and how it decays with n."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from onegrad.core.instance import draw
from onegrad.core.model_names import models_of
from onegrad.core.models import NETWORK
from onegrad.core.problem import Problem
from onegrad.core.run import finished_run
from onegrad.describe.extras import require_extra
from onegrad.describe.numbers import (
    Floats,
    percent,
)
from onegrad.describe.saved_result import SavedResult
from onegrad.describe.tables import ShownAsTable, Table
from onegrad.moments.exact_errors import Misfit, largest_reach, polynomial_misfit
from onegrad.moments.feature_laws import preactivation_laws
from onegrad.results.errors import TITLES, Errors, paired_gap
from onegrad.theory.methods import Method, draws_of, said_draws

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from onegrad.plotting.curves import DecayLine

SIGNIFICANT = 2.0  # standard errors from 0: below, log|gap| is mostly noise
ROUNDING = 1e-9


@dataclass(frozen=True)
class DecayFit:
    """The exponent p of one degree with its standard error, and the dimensions that it rests on.

    Where it cannot be fitted, exponent and stderr are None and `note` says why; otherwise it says
    which dimensions were left out, None where none was.
    """

    degree: int
    exponent: float | None
    stderr: float | None
    dimensions: tuple[int, ...]
    note: str | None = None

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        return {
            "degree": self.degree,
            "exponent": self.exponent,
            "stderr": self.stderr,
            "dimensions": list(self.dimensions),
            "note": self.note,
        }


def fit_decay(
    degree: int, dimensions: Sequence[int], gaps: Sequence[float], stderrs: Sequence[float]
) -> DecayFit:
    """Return the fit of log|gap| = log c − p log n, weighted by (gap/stderr)².

    A gap within two standard errors of 0 is left out. Where the points scatter more than their
    standard errors say, that of p is enlarged by as much.
    """
    n, g, e = (np.asarray(values, float) for values in (dimensions, gaps, stderrs))
    if not np.all(np.isfinite(g)):
        return DecayFit(degree, None, None, (), "no relative gap to a network without errors")
    if not np.all(np.isfinite(e)):
        return DecayFit(degree, None, None, (), "one draw has no standard error; raise draws")
    usable = np.abs(g) > np.maximum(SIGNIFICANT * e, ROUNDING)
    kept = tuple(int(d) for d in n[usable])
    left_out = [f"{d:.0f}" for d in n[~usable]]
    note = f"gap within 2 standard errors of 0 at n = {', '.join(left_out)}" if left_out else None
    if len(kept) < 2:
        few = "one usable point" if kept else "no usable point"
        said = f"{few}: {note}; raise draws" if note else f"{few}; add dimensions"
        return DecayFit(degree, None, None, kept, said)
    if len(set(np.sign(g[usable]))) > 1:
        return DecayFit(degree, None, None, kept, "the gap changes its sign")
    exponent, stderr = _line(np.log(n[usable]), g[usable], e[usable])
    return DecayFit(degree, exponent, stderr, kept, note)


def decay_factor(
    exponent: float, dimensions: Sequence[int], gaps: Sequence[float], stderrs: Sequence[float]
) -> float:
    """Return c of |gap| = c·n^{−p} for the fitted p, with the weights of the fit."""
    n, g, e = (np.asarray(values, float) for values in (dimensions, gaps, stderrs))
    heights = np.log(np.abs(g)) + exponent * np.log(n)
    return float(np.exp(np.average(heights, weights=_weights(g, e))))


def _weights(gap: Floats, error: Floats) -> Floats:
    """Return the inverse variances of log|gap|."""
    weights: Floats = (gap / np.maximum(error, ROUNDING * np.abs(gap))) ** 2
    return weights


def _line(position: Floats, gap: Floats, error: Floats) -> tuple[float, float]:
    """Return −slope of log|gap| against the position, and its standard error."""
    height = np.log(np.abs(gap))
    weight = _weights(gap, error)
    centred = position - np.average(position, weights=weight)
    information = np.sum(weight * centred**2)
    slope = np.sum(weight * centred * height) / information
    rest = height - np.average(height, weights=weight) - slope * centred
    free = len(gap) - 2
    scatter = np.sum(weight * rest**2) / free if free else 1.0
    return -float(slope), float(np.sqrt(max(scatter, 1.0) / information))


@dataclass(frozen=True)
class Scale:
    """The scale b that polynomials are made at, the largest r.m.s. of a neuron, the misfits."""

    bulk_deviation: float
    reach: float
    misfits: tuple[Misfit, ...]


def scale_of(problem: Problem, degrees: Sequence[int], *, seed: int) -> Scale:
    """Return the misfit of the Hermite polynomials of these degrees in the first draw."""
    with np.errstate(over="ignore", invalid="ignore"):  # of degrees far above the theorem's
        run = finished_run(draw(problem, seed=seed))
        instance = run.instance_at(problem.training.steps)
        first = run.first.astype(np.float64, copy=False)
        laws = preactivation_laws(instance.mixture, instance.teacher, first)
        network = NETWORK.feature_map(instance, run.layers, first)
        misfits = tuple(
            polynomial_misfit(laws, network, model.feature_map(instance, run.layers, first))
            for model in models_of(instance, [f"hermite:{d}" for d in degrees])
        )
    return Scale(instance.scales.bulk_deviation, largest_reach(laws), misfits)


def reason(degrees: Sequence[int], values: Floats, scale: Scale) -> str | None:
    """Return one sentence on the first degree that is worse than a lower one, None without one.

    `values` are the metric of the network (column 0) and of every degree, a row per draw.
    """
    pair = _worse_pair(values)
    if pair is None:
        return None
    (lower, higher), b = (scale.misfits[i] for i in pair), scale.bulk_deviation
    low, high = (degrees[i] for i in pair)
    made = (
        f"degree {high} has a larger gap than degree {low}: Hermite polynomials are made at "
        f"deviation b = {b:.3g}, pre-activations have up to {scale.reach / b:.2f} b; at the "
        f"neurons' own deviations degree {high}"
    )
    if higher.scale_error > lower.scale_error:
        return (
            f"{made} is off by {higher.scale_error:.2g} of σ's power, degree {low} by "
            f"{lower.scale_error:.2g}"
        )
    if abs(higher.nonlinear_power - 1) > abs(lower.nonlinear_power - 1):
        return (
            f"{made} has {higher.nonlinear_power:.3f} of the network's power beyond degree 1, "
            f"degree {low} {lower.nonlinear_power:.3f}"
        )
    return (
        f"{made} is closer to σ, off by {higher.scale_error:.2g} of its power in place of "
        f"{lower.scale_error:.2g}: the errors of degree {low} cancel in its gap"
    )


def _worse_pair(values: Floats) -> tuple[int, int] | None:
    """Return the places of the closest lower degree and of the first one that is worse.

    Worse is one whose |gap| is larger by two standard errors of the paired difference.
    """
    network = values[:, 0]
    difference = (values[:, 1:] - network[:, None]).T
    best, size = 0, [part * np.sign(part.sum()) for part in difference]
    for place in range(1, len(size)):
        more = paired_gap(network + size[place] - size[best], network)
        error = SIGNIFICANT * more.stderr if np.isfinite(more.stderr) else 0.0
        if more.mean > max(error, ROUNDING):
            return best, place
        if more.mean < -ROUNDING:
            best = place
    return None


def equivalence_table(equivalence: Equivalence) -> Table:
    """Return a row per degree: its gap in every dimension, the decay, whether it matches."""
    sizes = equivalence.sizes or (equivalence,)
    gaps = [f"gap, n = {s.dimension}" if equivalence.sizes else "gap to network" for s in sizes]
    rows = []
    for place, degree in enumerate(equivalence.degrees):
        cells = [percent(size.gaps[place], size.stderrs[place]) for size in sizes]
        cells += [_power(equivalence.decay[place])] if equivalence.decay else []
        rows.append((f"{degree}", *cells, "yes" if equivalence.matches[place] else "no"))
    notes = [f"degree {fit.degree}: {fit.note}" for fit in equivalence.decay if fit.note]
    notes += [] if equivalence.reason is None else [equivalence.reason]
    return Table(
        ("degree", *gaps, *(["decay"] if equivalence.decay else []), "matches"),
        tuple(rows),
        title=f"Equivalence: n = {equivalence.dimension}, {equivalence.metric}",
        caption=_caption(equivalence),
        notes=tuple(notes),
    )


def _caption(equivalence: Equivalence) -> str:
    errors, smallest = equivalence.errors, equivalence.smallest
    at = f" at n = {equivalence.dimension}" if equivalence.sizes else ""
    return (
        f"smallest degree within {100 * equivalence.tolerance:g} %{at}: "
        f"{'none of these' if smallest is None else smallest}; the theorem's degree at "
        f"β = {equivalence.strength:.3g}: {equivalence.theorem or 'none, it covers β < 1'}; "
        f"{TITLES[equivalence.metric]} by {equivalence.method}, "
        f"{said_draws(equivalence.method, errors.trials, errors.seed)}, nothing trained"
    )


def _power(fit: DecayFit) -> str:
    """Return n^−p with its standard error."""
    if fit.exponent is None:
        return "not fitted"
    return f"n^{-fit.exponent:.2f} ± {fit.stderr:.2f}"


@dataclass(frozen=True, repr=False, eq=False)
class Equivalence(ShownAsTable, SavedResult):
    """The predicted gap of each Hermite degree to the network, and the degrees that follow.

    `smallest` is the lowest degree whose gap is within the tolerance, None if none is; `theorem` is
    ⌈β/(1 − β)⌉ of [1], without a cap, None at β ≥ 1, which the theorem does not cover. A higher
    degree is not always closer at finite n: `reason` says why where one is not, from the misfits in
    `scale`.
    For a list of dimensions everything is that of the largest; `sizes` has an `Equivalence` of each
    dimension and `decay` the exponent of each degree.
    """

    saved_parts = (Errors, DecayFit, Scale, Misfit)

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

    def summary_table(self) -> Table:
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
        from onegrad.plotting.curves import decay_plot, gap_plot
        from onegrad.plotting.matplotlib_figure import draw_plot

        if not self.sizes:
            plot = gap_plot(self.to_frame(), tolerance=self.tolerance, theorem=self.theorem)
        else:
            plot = decay_plot(self.to_frame(), self._decay_lines())
        return draw_plot(plot, ax)

    def _decay_lines(self) -> list[DecayLine]:
        """Return the fits that were possible as lines."""
        from onegrad.plotting.curves import DecayLine

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
