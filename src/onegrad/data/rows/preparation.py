"""Rows of a data set prepared as the paper prepares images, and the mixture fitted to them.

x = √(θ/tr S) f_c (row − μ_c) + δ N(0, I): centred, classes scaled to one trace tr S, spread θ.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from onegrad.data.counts import exact_counts, granules
from onegrad.data.mixture import Gaussian, Mixture
from onegrad.data.rows.fitting import fit_gaussians
from onegrad.data.rows.reading import NAMED, Labelled, read_labelled
from onegrad.describe.arrays import Array, Floats, Normals
from onegrad.describe.exceptions import InvalidInput

Centring = Literal["class", "midpoint", "none"]
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

    def source(self) -> Labelled:
        """Return all rows of the data, which must be those that were described."""
        if self.file is not None:
            source = read_labelled(self.file, self.label_column)
        else:
            assert self.inputs is not None
            assert self.labels is not None
            source = of_arrays(self.inputs, self.labels, self.names)
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


def of_arrays(inputs: Array, labels: Array, names: tuple[str, ...]) -> Labelled:
    """Return rows whose labels are places among `names`."""
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


@functools.lru_cache(maxsize=4)
def split(selection: Selection) -> Split:
    """Return the rows of the classes, parted once into those for networks and for fitting."""
    source = selection.source()
    chosen = [_rows_of(source, names) for names in selection.classes]
    with np.errstate(over="ignore"):
        traces = [float(np.sum(rows.var(axis=0, dtype=float))) for rows in chosen]
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
    )


@dataclass(frozen=True)
class Prepared:
    """A split with what preparation subtracts from rows of each class and multiplies them by."""

    parts: Split
    centres: tuple[Floats, ...]
    factors: tuple[float, ...]
    weights: tuple[float, ...]
    trace: float  # tr S, of the centred and scaled classes

    @property
    def rows(self) -> tuple[NDArray[Any], ...]:
        """The rows for networks, by class."""
        return self.parts.rows

    @property
    def dimension(self) -> int:
        """Features of a row."""
        return int(self.rows[0].shape[1])

    def centred(self, part: int, rows: NDArray[Any]) -> Floats:
        """Return f_c (row − μ_c) in double precision."""
        return self.factors[part] * (rows - self.centres[part])

    @functools.cached_property
    def norm(self) -> float:
        """The largest eigenvalue of Σ_c ρ_c Cov_c of the prepared classes, over all rows."""
        total: Floats = np.zeros((self.dimension, self.dimension))
        for part, weight in enumerate(self.weights):
            both = np.concatenate([self.parts.rows[part], self.parts.fitting[part]])
            deviations = self.factors[part] * (both - self.parts.means[part])
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
    first = parts.traces[0]
    factors = tuple(
        parts.unit * (float(np.sqrt(first / t)) if preparation.equal_traces else 1.0)
        for t in parts.traces
    )
    shares = zip(preparation.weights, factors, parts.traces, strict=True)
    trace = sum(w * f * f * t for w, f, t in shares)
    return Prepared(parts, centres, factors, preparation.weights, float(trace))


def _rows_of(source: Labelled, names: tuple[str, ...]) -> NDArray[Any]:
    absent = [name for name in names if name not in source.names]
    if absent:
        some = ", ".join(source.names[:12])
        raise InvalidInput(f"classes={absent[0]!r}: is not among the labels {some}; choose those")
    return source.rows(names)


@dataclass(frozen=True)
class EmpiricalPopulation:
    """The classes of a data set as one trial sees them: rows in its own order, none twice."""

    preparation: Preparation
    targets: tuple[float, ...]
    scale: float  # θ/tr S
    noise: float
    fit: tuple[int | None, int, int]  # components per class, rank, seed
    order: tuple[NDArray[np.intp], ...]
    counts: Literal["exact", "sampled"] = "exact"

    @property
    def prepared(self) -> Prepared:
        """The rows by class."""
        return prepare(self.preparation)

    @property
    def dimension(self) -> int:
        """Input dimension n."""
        return self.prepared.dimension

    @property
    def weights(self) -> Floats:
        """Class probabilities ρ_c."""
        return np.asarray(self.preparation.weights)

    @property
    def labels(self) -> tuple[float | None, ...]:
        """The target of each class."""
        return self.targets

    @property
    def trace(self) -> float:
        """θ + nδ²."""
        return self.scale * self.prepared.trace + self.dimension * self.noise**2

    @property
    def level(self) -> float:
        """Tr Σ/n: no few spikes dominate, so b is the total deviation, as published."""
        return self.trace / self.dimension

    @property
    def norm(self) -> float:
        """The largest eigenvalue of the mean covariance of the prepared classes."""
        return self.scale * self.prepared.norm + self.noise**2

    @property
    def spike_sum(self) -> Floats:
        """Zero: rows have no spikes."""
        return np.zeros(self.dimension)

    def draw_counts(self, samples: int, rng: np.random.Generator) -> tuple[int, ...]:
        """Return how many of `samples` each class gets, by largest remainder."""
        return exact_counts(self.weights, samples)

    def sample(self, counts: tuple[int, ...], normals: Normals, earlier: tuple[int, ...]) -> Floats:
        """Return prepared rows, class by class, that no earlier batch of the trial has."""
        inputs = np.empty((sum(counts), self.dimension))
        row = 0
        for part, start, rows in granules(counts):
            inputs[row : row + rows] = self._block(part, start, rows, normals, earlier)
            row += rows
        return inputs

    def blocks(
        self, counts: tuple[int, ...], rng: np.random.Generator, earlier: tuple[int, ...]
    ) -> Iterator[tuple[int, Floats]]:
        """Yield (class, prepared rows) in blocks of at most GRANULE rows."""
        for part, start, rows in granules(counts):
            yield part, self._block(part, start, rows, rng, earlier)

    def _block(
        self, part: int, start: int, rows: int, normals: Normals, earlier: tuple[int, ...]
    ) -> Floats:
        first = start + sum(exact_counts(self.weights, size)[part] for size in earlier)
        chosen = self.prepared.rows[part][self.order[part][first : first + rows]]
        block = np.sqrt(self.scale) * self.prepared.centred(part, chosen)
        if self.noise:
            block += self.noise * normals.standard_normal((rows, self.dimension))
        return block

    @property
    def mixture(self) -> Mixture:
        """The mixture fitted to the rows that no network sees, prepared in the same way."""
        parts = fitted_parts(self.preparation, *self.fit)
        noise, root = self.noise**2, np.sqrt(self.scale)
        return Mixture(
            tuple(
                Gaussian(
                    weight=part.weight,
                    mean=None if part.mean is None else root * part.mean,
                    level=self.scale * part.level + noise,
                    directions=part.directions,
                    strengths=self.scale * part.strengths,
                    label=self.targets[int(part.label or 0)],
                )
                for part in parts
            )
        )


@functools.lru_cache(maxsize=8)
def fitted_parts(
    preparation: Preparation, components: int | None, rank: int, seed: int
) -> tuple[Gaussian, ...]:
    """Return Gaussians fitted to the rows kept for it, centred and scaled, before the spread.

    Their labels are the places of their classes.
    """
    prepared = prepare(preparation)
    fitting = prepared.parts.fitting
    x = np.concatenate([prepared.centred(i, rows) for i, rows in enumerate(fitting)])
    y = np.repeat(np.arange(len(fitting), dtype=float), [len(rows) for rows in fitting])
    fitted = fit_gaussians(x, y, components=components, rank=rank, seed=seed)
    shares = np.asarray(preparation.weights) / (np.unique(y, return_counts=True)[1] / len(y))
    return tuple(
        replace(part, weight=part.weight * shares[int(part.label or 0)]) for part in fitted
    )
