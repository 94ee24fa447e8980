"""Data sources: a description draws a population, and a registry holds the kinds.

A source of your own is a subclass of `Source` with a `kind` and a `draw`; `register_source` makes
it known to problems, files and workers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, Protocol, Self, runtime_checkable

import numpy as np

from onegrad.data.mixture import Mixture
from onegrad.describe.numbers import Floats, Normals
from onegrad.describe.registry import TaggedUnion
from onegrad.describe.value import Value


class Population(Protocol):
    """A drawn source of samples in parts (components or classes), with the scales of its inputs."""

    @property
    def dimension(self) -> int:
        """Input dimension n."""

    @property
    def weights(self) -> Floats:
        """Probabilities ρ_c of the parts."""

    @property
    def level(self) -> float:
        """s²: the variance per coordinate that b, the deviation of f_iᵀx, is made of."""

    @property
    def trace(self) -> float:
        """Tr Σ of Σ = Σ_c ρ_c Σ_c, without the means' contribution."""

    @property
    def norm(self) -> float:
        """‖Σ‖."""

    @property
    def labels(self) -> tuple[float | None, ...]:
        """The label of each part, where it has one."""

    @property
    def spike_sum(self) -> Floats:
        """The sum of the spikes' directions, zero for a population without spikes."""

    @property
    def counts(self) -> Literal["exact", "sampled"]:
        """Whether every batch has the same number of rows of each part."""

    @property
    def mixture(self) -> Mixture:
        """The mixture that theory reads: the population itself, or one fitted to it."""

    def draw_counts(self, samples: int, rng: np.random.Generator) -> tuple[int, ...]:
        """Return how many of `samples` each part gets."""

    def sample(self, counts: tuple[int, ...], normals: Normals, earlier: tuple[int, ...]) -> Floats:
        """Return inputs (samples × n), parts one after the other.

        `earlier` has the sizes of the batches that the trial took before: a finite population
        gives none of their rows again.
        """

    def blocks(
        self, counts: tuple[int, ...], rng: np.random.Generator, earlier: tuple[int, ...]
    ) -> Iterator[tuple[int, Floats]]:
        """Yield (part, inputs) in blocks of at most GRANULE rows."""


@runtime_checkable
class RowLabels(Protocol):
    """A population whose rows have a number y of their own, beside the label of their part."""

    @property
    def label_deviation(self) -> float:
        """The deviation of y within the parts; 0 where labels are those of the parts."""

    def row_labels(
        self, part: int, start: int, rows: int, earlier: tuple[int, ...]
    ) -> Floats | None:
        """Return y of rows of a part of a batch; None where it is the label of the part."""


class Source(Value):
    """A description of where inputs come from. Only `kind` and `draw` must be given.

    `exact_moments` says that the drawn population is the mixture whose moments exact errors and
    theory read; otherwise tests are sampled and theory reads the population's own `mixture`.
    """

    exact_moments: ClassVar[bool] = True

    kind: str

    def draw(self, dimension: int, spread: float, rng: np.random.Generator) -> Population:
        """Return a population of this dimension; `spread` θ scales its spikes."""
        raise NotImplementedError(f"a source of kind {self.kind!r} must define draw")

    def complete(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return a problem's fields with what follows from the source where nothing is said."""
        return dict(fields)

    def with_labels(self) -> Self:
        """Return the source with its usual labels where it has none."""
        return self

    def for_training(self) -> Self:
        """Return the source as networks see it, without what only theory reads."""
        return self

    def identity(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Return the dumped fields that determine the source, without where data lie."""
        return fields

    @property
    def all_labels(self) -> tuple[float | None, ...]:
        """The label of each part, None where it has none."""
        return ()

    @property
    def part_labels(self) -> tuple[float | None, ...]:
        """The label of each part that has samples."""
        return self.all_labels

    @property
    def has_spikes(self) -> bool:
        """Whether a teacher can point along spikes."""
        return False

    @property
    def theory_parts(self) -> int:
        """Components of the mixture that moments are summed over, at most."""
        return max(len(self.part_labels), 1)

    @property
    def theory_columns(self) -> int:
        """Vectors of length n that the mixture holds, about."""
        return 8 * self.theory_parts

    @property
    def held_bytes(self) -> float:
        """Bytes that every worker holds beside the mixture."""
        return 0.0

    def check_dimension(self, dimension: int) -> None:
        """Raise ValueError where the source does not fit into this dimension."""

    def check_sizes(self, sizes: dict[str, int]) -> None:
        """Raise ValueError where there are too few rows for disjoint sets of these sizes."""

    def remaining(self, sizes: Sequence[int]) -> int:
        """Return how many rows are left beside disjoint sets of these sizes."""
        raise ValueError(
            f"test_samples='rest': needs real data, a source of kind {self.kind!r} has no end of "
            "samples; give a number"
        )

    def check_labels(self) -> None:
        """Raise ValueError where a teacher that reads labels finds none."""
        for index, label in enumerate(self.all_labels):
            if label is None:
                raise ValueError(
                    f"data.components.{index}.label: missing; the teacher reads a label per "
                    "component; give --labels, or label in [[data.components]]"
                )

    def check_fit(self) -> None:
        """Raise InvalidInput where theory cannot have the mixture that it reads."""


def _default_kind(fields: dict[str, Any]) -> str:
    """Return "empirical" for fields with a file or inputs, else "mixture"."""
    return "empirical" if {"file", "inputs"} & set(fields) else "mixture"


SOURCES: TaggedUnion[Source] = TaggedUnion(Source, "data sources", _default_kind, home=__name__)


def register_source(description: type[Source]) -> type[Source]:
    """Return your own source class after making its kind known; use it as a decorator."""
    return SOURCES.register(description)
