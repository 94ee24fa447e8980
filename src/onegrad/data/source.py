"""What a data source is: the description that draws a population, and the registry of its kinds.

A source of your own is a subclass of `Source` with a `kind` and a `draw`; `register_source` makes
it known to problems, files and workers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from onegrad.data.population import Population
from onegrad.describe.kinds import Kinds
from onegrad.describe.registry import Registry
from onegrad.describe.value import Value


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


def _guess(fields: dict[str, Any]) -> str:
    """Return the kind of fields that do not say it: who names a file or inputs means real data."""
    return "empirical" if {"file", "inputs"} & set(fields) else "mixture"


SOURCES: Kinds[Source] = Kinds(Source, Registry("data sources", {}, home=__name__), _guess)


def register_source(description: type[Source]) -> type[Source]:
    """Return your own source class after making its kind known; use it as a decorator."""
    return SOURCES.register(description)
