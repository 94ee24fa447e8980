"""Rows of a data set by class, and what preparation subtracts from and multiplies them by.

x = √(θ/tr S) f_c (row − μ_c)/σ + δ N(0, I): centred, features over their deviations σ where asked
for, classes scaled to one trace tr S, spread θ.
"""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from onegrad.data.rows_files import NAMED, Labelled, numbered, read_labelled
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import Array, Floats, shown

Centring = Literal["class", "midpoint", "none"]
EQUAL = 1e-12  # a deviation below this share of the mean is rounding
SPLIT_SEED = 0  # the rows for fitting and those for networks are parted once, for every seed


@dataclass(frozen=True)
class Selection:
    """Which rows of which data, and which of them are kept for fitting."""

    file: str | None
    label_column: str
    inputs: Array | None
    labels: Array | None
    names: tuple[str, ...]
    digest: str
    classes: tuple[tuple[str, ...], ...]
    fit_share: float
    parts: int | None = None  # into which y is cut where it is a number

    def source(self) -> Labelled:
        """Return all rows of the data, which must be those that were described."""
        if self.file is not None:
            source = read_labelled(self.file, self.label_column, parts=self.parts)
        else:
            assert self.inputs is not None
            assert self.labels is not None
            source = of_arrays(self.inputs, self.labels, self.names, self.parts)
        if source.digest != self.digest:
            raise InvalidInput(
                f"digest={self.digest!r}: the data have another, {source.digest!r}; restore them, "
                "or leave the digest out"
            )
        return source


@dataclass(frozen=True)
class Preparation:
    """A selection, the shares of its classes, and how they are centred and scaled."""

    selection: Selection
    weights: tuple[float, ...]
    centring: Centring
    equal_traces: bool
    standardise: bool = False


def of_arrays(
    inputs: Array, labels: Array, names: tuple[str, ...], parts: int | None = None
) -> Labelled:
    """Return rows whose labels are places among `names`, or numbers to be cut into parts."""
    if inputs.values.ndim != 2:
        raise InvalidInput(
            f"inputs: have shape {inputs.shape}, must be rows × features; use EmpiricalData(X, y)"
        )
    if parts is not None:
        return numbered(inputs.values, labels.values, parts)
    places = labels.values.astype(np.intp)
    if labels.shape != (len(inputs.values),) or not np.all((places >= 0) & (places < len(names))):
        raise InvalidInput(
            "labels: must be places among names, one per row; use EmpiricalData(X, y)"
        )
    return Labelled(inputs.values, places, names)


@dataclass(frozen=True)
class Split:
    """Rows by class as they are stored, for networks and for fitting, with their statistics."""

    rows: tuple[NDArray[Any], ...]
    fitting: tuple[NDArray[Any], ...]
    means: tuple[Floats, ...]  # of all rows of a class
    traces: tuple[float, ...]
    unit: float
    numbers: tuple[Floats, ...] | None = None  # y of the rows for networks, where it is a number
    variances: tuple[Floats, ...] = ()  # of every feature, by class

    @property
    def sizes(self) -> tuple[int, ...]:
        """All rows of each class."""
        return tuple(len(r) + len(f) for r, f in zip(self.rows, self.fitting, strict=True))


@functools.lru_cache(maxsize=4)
def split(selection: Selection) -> Split:
    """Return the rows of the classes, parted once into those for networks and for fitting."""
    source = selection.source()
    chosen = [_rows_of(source, names) for names in selection.classes]
    with np.errstate(over="ignore"):
        variances = [rows.var(axis=0, dtype=float) for rows in chosen]
        traces = [float(np.sum(variance)) for variance in variances]
    for names, rows, trace in zip(selection.classes, chosen, traces, strict=True):
        if not (np.isfinite(trace) and trace > 0):
            flat = not np.any(rows.max(axis=0) > rows.min(axis=0))
            said = "all features are constant" if flat else f"the variance is {trace:g}"
            remedy = "choose another" if flat else "bring its values nearer to 1"
            raise InvalidInput(f"classes={'+'.join(names)!r}: {said} there; {remedy}")
    constant = [rows.max(axis=0) == rows.min(axis=0) for rows in chosen]
    count = int(np.sum(np.all(constant, axis=0)))
    if count and selection.file not in NAMED:
        warnings.warn(
            f"{count} of {source.inputs.shape[1]} features are constant in every class: they "
            "carry the added noise alone",
            stacklevel=2,
        )
    rng = np.random.default_rng(SPLIT_SEED)
    orders = [rng.permutation(len(rows)) for rows in chosen]
    cuts = [round(selection.fit_share * len(rows)) for rows in chosen]
    return Split(
        rows=tuple(r[o[cut:]] for r, o, cut in zip(chosen, orders, cuts, strict=True)),
        fitting=tuple(r[o[:cut]] for r, o, cut in zip(chosen, orders, cuts, strict=True)),
        means=tuple(rows.mean(axis=0, dtype=float) for rows in chosen),
        traces=tuple(traces),
        unit=source.unit,
        numbers=_numbers(source, selection.classes, orders, cuts),
        variances=tuple(variances),
    )


def _numbers(
    source: Labelled,
    classes: tuple[tuple[str, ...], ...],
    orders: list[NDArray[np.intp]],
    cuts: list[int],
) -> tuple[Floats, ...] | None:
    """Return y of the rows for networks by class, in their order."""
    if source.numbers is None:
        return None
    known = [source.numbers[source.places(names)] for names in classes]
    return tuple(y[o[cut:]] for y, o, cut in zip(known, orders, cuts, strict=True))


@dataclass(frozen=True)
class Prepared:
    """A split with what preparation subtracts from rows of each class and multiplies them by."""

    parts: Split
    centres: tuple[Floats, ...]
    factors: tuple[float, ...]
    weights: tuple[float, ...]
    trace: float  # tr S, of the centred and scaled classes
    deviations: Floats | None = None  # of the features over all classes, where they divide

    @property
    def rows(self) -> tuple[NDArray[Any], ...]:
        """The rows for networks, by class."""
        return self.parts.rows

    @property
    def dimension(self) -> int:
        """Features of a row."""
        return int(self.rows[0].shape[1])

    def centred(self, part: int, rows: NDArray[Any]) -> Floats:
        """Return f_c (row − μ_c)/σ in double precision."""
        return self._scaled(part, rows - self.centres[part])

    def _scaled(self, part: int, deviations: Floats) -> Floats:
        scaled = self.factors[part] * deviations
        return scaled if self.deviations is None else scaled / self.deviations

    @functools.cached_property
    def norm(self) -> float:
        """The largest eigenvalue of Σ_c ρ_c Cov_c of the prepared classes, over all rows."""
        total: Floats = np.zeros((self.dimension, self.dimension))
        for part, weight in enumerate(self.weights):
            both = np.concatenate([self.parts.rows[part], self.parts.fitting[part]])
            deviations = self._scaled(part, both - self.parts.means[part])
            total += weight / len(both) * (deviations.T @ deviations)
        return float(np.linalg.eigvalsh(total)[-1])


@functools.lru_cache(maxsize=16)
def prepare(preparation: Preparation) -> Prepared:
    """Return the split with the centres and factors of its classes."""
    parts = split(preparation.selection)
    midpoint = np.mean(parts.means, axis=0)
    centres = {
        "class": parts.means,
        "midpoint": (midpoint,) * len(parts.means),
        "none": (np.zeros_like(midpoint),) * len(parts.means),
    }[preparation.centring]
    # Rows stay as they are stored, pixels as bytes: the factors bring them to their unit.
    unit, traces, deviations = parts.unit, parts.traces, None
    if preparation.standardise:
        unit, deviations = 1.0, _deviations(parts)
        traces = tuple(float(np.sum(v / deviations**2)) for v in parts.variances)
    first = traces[0]
    factors = tuple(
        unit * (float(np.sqrt(first / t)) if preparation.equal_traces else 1.0) for t in traces
    )
    shares = zip(preparation.weights, factors, traces, strict=True)
    trace = sum(w * f * f * t for w, f, t in shares)
    return Prepared(parts, centres, factors, preparation.weights, float(trace), deviations)


def _deviations(parts: Split) -> Floats:
    """Return the deviation of every feature over all rows; 1 where it is constant."""
    shares = np.asarray(parts.sizes, float) / sum(parts.sizes)
    means = np.array(parts.means)
    within = shares @ np.array(parts.variances)
    between = shares @ (means - shares @ means) ** 2
    deviations: Floats = np.sqrt(within + between)
    all_rows = [np.concatenate(pair) for pair in zip(parts.rows, parts.fitting, strict=True)]
    flat = np.all([rows.max(axis=0) == rows.min(axis=0) for rows in all_rows], axis=0)
    return np.where(flat & (deviations <= EQUAL * np.abs(means).max(axis=0)), 1.0, deviations)


def _rows_of(source: Labelled, names: tuple[str, ...]) -> NDArray[Any]:
    absent = [name for name in names if name not in source.names]
    if absent:
        some = ", ".join(source.names[:12])
        raise InvalidInput(
            f"classes={shown(absent[0])}: is not among the labels {some}; choose those"
        )
    return source.rows(names)
