"""Teachers of several orthonormal directions: y = combination of σ*_i(w*_iᵀx), x ~ N(0, I)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field, Strict

from onegrad.calculus import functions
from onegrad.data.index_teacher import scaled_to
from onegrad.data.mixture_source import Directions
from onegrad.describe.arrays import Array, Floats
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.fields import NUMPY
from onegrad.describe.value import Value

LARGEST_LABEL = 1e60  # squares of squared errors must not overflow


def _links(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not value:
        raise ValueError("must be a list of at least one link; correct it")
    return tuple(functions.function_name(link) for link in value)


Links = Annotated[tuple[str, ...], BeforeValidator(_links)]
LabelNoise = Annotated[float, Strict(), Field(ge=0, le=LARGEST_LABEL, allow_inf_nan=False), NUMPY]


class MultiIndex(Value):
    """A teacher of r = len(links) orthonormal directions w*_i.

    `combine`, with s_i = σ*_i(w*_iᵀx): "mean" is (1/r) Σ s_i (Dandi et al.), "sum" Σ s_i, "product"
    Π s_i, "staircase" s_1 + s_1 s_2 + s_1 s_2 s_3 + …; noise·N(0, 1) is added.
    `directions`: "random", or a d × r array with orthonormal columns.
    """

    links: Links = Field(
        default=("z",), description="Link of each direction: names or formulas of z, as He4/24."
    )
    combine: Literal["mean", "sum", "product", "staircase"] = Field(
        default="mean", description="How the links' values become a label."
    )
    directions: Directions = Field(
        default="random", description='"random", or a d × r array with orthonormal columns.'
    )
    noise: LabelNoise = Field(default=0.0, description="Deviation of label noise.")

    @property
    def rank(self) -> int:
        """r, the number of directions."""
        return len(self.links)

    def check_dimension(self, dimension: int) -> None:
        """Raise ValueError where the directions do not fit into this dimension."""
        if self.rank > dimension:
            raise ValueError(
                f"teacher.links: {self.rank} directions, must be at most dimension={dimension}; "
                "remove links or raise the dimension"
            )
        if isinstance(self.directions, Array) and self.directions.shape != (dimension, self.rank):
            raise ValueError(
                f"teacher.directions: has shape {self.directions.shape}, must be dimension="
                f"{dimension} times {self.rank} links; change one of them"
            )

    def draw(self, dimension: int, rng: np.random.Generator) -> DrawnTeacher:
        """Return the teacher with its directions drawn, one after the other, each of norm 1."""
        if isinstance(self.directions, Array):
            return DrawnTeacher(self, self.directions.values)
        columns: list[Floats] = []
        for _ in self.links:
            column = rng.standard_normal(dimension)
            for _ in range(2 if columns else 0):  # twice is enough for orthogonality to rounding
                column -= np.stack(columns, axis=1) @ (np.stack(columns) @ column)
            columns.append(scaled_to(column, 1.0))
        return DrawnTeacher(self, np.stack(columns, axis=1))

    def value(self, projections: Floats) -> Floats:
        """Return the label without noise for rows of (w*_1ᵀx, …, w*_rᵀx)."""
        parts = [functions.get(name)(projections[:, i]) for i, name in enumerate(self.links)]
        total = product = parts[0]
        for part in parts[1:]:
            product = product * part
            total = total + (product if self.combine == "staircase" else part)
        if self.combine == "product":
            return product
        return total / self.rank if self.combine == "mean" else total


@dataclass(frozen=True)
class DrawnTeacher:
    """A teacher with its directions W* (d × r)."""

    description: MultiIndex
    directions: Floats

    def labels(self, projections: Floats, rng: np.random.Generator) -> Floats:
        """Return y for rows of projections xᵀW*, noise added; raise where a label is too large."""
        with np.errstate(all="ignore"):
            clean = self.description.value(projections)
        if not np.all(np.abs(clean) <= LARGEST_LABEL):
            worst = clean[~(np.abs(clean) <= LARGEST_LABEL)][0]
            raise InvalidInput(
                f"{named_links(self.description)}: a label is {worst:.3g}, must be finite and at "
                f"most {LARGEST_LABEL:g}; change the links"
            )
        noise = self.description.noise
        return clean + noise * rng.standard_normal(len(clean)) if noise else clean


def named_links(teacher: MultiIndex) -> str:
    """Return the field and its links, as a message names them."""
    return f"teacher.links={', '.join(teacher.links)!r}"
