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

from onegrad.arrays import Array, Floats, Normals
from onegrad.data.counts import exact_counts, granules
from onegrad.data.fitting import fit_gaussians
from onegrad.data.labelled import NAMED, Labelled, read_labelled
from onegrad.data.mixture import Gaussian, Mixture
from onegrad.validation import InvalidInput

Centring = Literal["class", "midpoint", "none"]
SPLIT_SEED = 0  # the rows for fitting and those for networks are parted once, for every seed
LEAST_ROWS = 4


@dataclass(frozen=True)
class Selection:
    """Which rows of which data, and how they are centred and scaled."""

    file: str | None
    label_column: str
    inputs: Array | None
    labels: Array | None
    names: tuple[str, ...]
    digest: str
    classes: tuple[tuple[str, ...], ...]
    weights: tuple[float, ...]
    centring: Centring
    equal_traces: bool
    fit_share: float

    def source(self) -> Labelled:
        """Return all rows of the data."""
        if self.file is not None:
            return read_labelled(self.file, self.label_column)
        assert self.inputs is not None
        assert self.labels is not None
        return of_arrays(self.inputs, self.labels, self.names)


def of_arrays(inputs: Array, labels: Array, names: tuple[str, ...]) -> Labelled:
    """Return rows whose labels are places among `names`."""
    places = labels.values.astype(np.intp)
    if labels.shape != (len(inputs.values),) or not np.all((places >= 0) & (places < len(names))):
        raise InvalidInput(
            "labels: must be places among names, one per row; use EmpiricalData(X, y)"
        )
    return Labelled(inputs.values, places, names)


@dataclass(frozen=True)
class Prepared:
    """Rows by class for networks and for fitting, and what preparation subtracts and multiplies."""

    rows: tuple[NDArray[Any], ...]
    fitting: tuple[NDArray[Any], ...]
    centres: tuple[Floats, ...]
    factors: tuple[float, ...]
    trace: float  # tr S, of the centred and scaled classes

    @property
    def dimension(self) -> int:
        """Features of a row."""
        return int(self.rows[0].shape[1])

    def centred(self, part: int, rows: NDArray[Any]) -> Floats:
        """Return f_c (row − μ_c) in double precision."""
        return self.factors[part] * (rows - self.centres[part])

    @functools.cached_property
    def norm(self) -> float:
        """The largest eigenvalue of the classes' mean covariance, equally weighted."""
        total: Floats = np.zeros((self.dimension, self.dimension))
        for part, rows in enumerate(self.rows):
            centred = self.centred(part, rows)
            centred -= centred.mean(axis=0)
            total += centred.T @ centred / (len(rows) * len(self.rows))
        return float(np.linalg.eigvalsh(total)[-1])


@functools.lru_cache(maxsize=8)
def prepare(selection: Selection) -> Prepared:
    """Return the rows of the classes with the statistics of their preparation.

    Means and traces are those of all rows of a class.
    """
    source = selection.source()
    chosen = [_rows_of(source, names) for names in selection.classes]
    means = [rows.mean(axis=0, dtype=float) for rows in chosen]
    traces = [float(np.sum(rows.var(axis=0, dtype=float))) for rows in chosen]
    for names, trace in zip(selection.classes, traces, strict=True):
        if not trace > 0:
            raise InvalidInput(
                f"classes={'+'.join(names)!r}: all features are constant there; choose another"
            )
    constant = int(np.sum(np.all([np.ptp(rows, axis=0) == 0 for rows in chosen], axis=0)))
    if constant and selection.file not in NAMED:
        warnings.warn(
            f"{constant} of {source.inputs.shape[1]} features are constant in every class: they "
            "carry the added noise alone",
            stacklevel=2,
        )
    midpoint = np.mean(means, axis=0)
    centres = {"class": means, "midpoint": [midpoint] * len(means)}.get(
        selection.centring, [np.zeros_like(midpoint)] * len(means)
    )
    # Rows stay as they are stored, pixels as bytes: the factors bring them to their unit.
    factors = [
        source.unit * (float(np.sqrt(traces[0] / t)) if selection.equal_traces else 1.0)
        for t in traces
    ]
    trace = sum(w * f**2 * t for w, f, t in zip(selection.weights, factors, traces, strict=True))
    rng = np.random.default_rng(SPLIT_SEED)
    orders = [rng.permutation(len(rows)) for rows in chosen]
    cuts = [round(selection.fit_share * len(rows)) for rows in chosen]
    return Prepared(
        rows=tuple(r[o[cut:]] for r, o, cut in zip(chosen, orders, cuts, strict=True)),
        fitting=tuple(r[o[:cut]] for r, o, cut in zip(chosen, orders, cuts, strict=True)),
        centres=tuple(centres),
        factors=tuple(factors),
        trace=float(trace),
    )


def _rows_of(source: Labelled, names: tuple[str, ...]) -> NDArray[Any]:
    absent = [name for name in names if name not in source.names]
    if absent:
        some = ", ".join(source.names[:12])
        raise InvalidInput(f"classes={absent[0]!r}: is not among the labels {some}; choose those")
    return source.rows(names)


@dataclass(frozen=True)
class EmpiricalPopulation:
    """The classes of a data set as one trial sees them: rows in its own order, none twice."""

    selection: Selection
    targets: tuple[float, ...]
    scale: float  # θ/tr S
    noise: float
    fit: tuple[int | None, int, int]  # components per class, rank, seed
    order: tuple[NDArray[np.intp], ...]
    counts: Literal["exact", "sampled"] = "exact"

    @property
    def prepared(self) -> Prepared:
        """The rows by class."""
        return prepare(self.selection)

    @property
    def dimension(self) -> int:
        """Input dimension n."""
        return self.prepared.dimension

    @property
    def weights(self) -> Floats:
        """Class probabilities ρ_c."""
        return np.asarray(self.selection.weights)

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
        parts = fitted_parts(self.selection, *self.fit)
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
    selection: Selection, components: int | None, rank: int, seed: int
) -> tuple[Gaussian, ...]:
    """Return Gaussians fitted to the rows kept for it, centred and scaled, before the spread.

    Their labels are the places of their classes.
    """
    prepared = prepare(selection)
    if min(len(rows) for rows in prepared.fitting) < LEAST_ROWS:
        raise InvalidInput(
            f"fit_share={selection.fit_share}: leaves fewer than {LEAST_ROWS} rows of a class to "
            "fit a mixture to; raise it"
        )
    x = np.concatenate([prepared.centred(i, rows) for i, rows in enumerate(prepared.fitting)])
    y = np.repeat(
        np.arange(len(prepared.fitting), dtype=float), [len(rows) for rows in prepared.fitting]
    )
    found = fit_gaussians(x, y, components=components, rank=rank, seed=seed)
    shares = np.asarray(selection.weights) / (np.unique(y, return_counts=True)[1] / len(y))
    return tuple(replace(part, weight=part.weight * shares[int(part.label or 0)]) for part in found)
