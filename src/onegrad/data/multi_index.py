"""Teachers of several orthogonal directions: y = combination of σ*_i(w*_iᵀx)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

import numpy as np
from pydantic import BeforeValidator, Field, PlainValidator, Strict

from onegrad.calculus import functions
from onegrad.data.index_teacher import IndexTeacher, scaled_to
from onegrad.data.joint_teacher import JointTeacher
from onegrad.data.mixture_source import Component, MixtureSource, orthonormal_directions
from onegrad.data.population import Population
from onegrad.data.source import Source
from onegrad.data.teacher import TEACHERS, Teacher, TeacherDescription
from onegrad.data.teacher_sum import TeacherSum
from onegrad.describe.arrays import Array, Floats
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.fields import NUMPY, Positive, control

STEP_SIZE_FIELDS = (
    *("strength", "weighting", "learning_rate", "per_width", "per_root", "change_exponent"),
    "spread",
)
PUBLISHED_RATE = 2.0  # η per neuron
LARGEST_LABEL = 1e60  # squares of squared errors must not overflow

Choice = Literal["random", "spikes", "last_spikes"]


def _links(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not value:
        raise ValueError("must be a list of at least one link; correct it")
    return tuple(functions.function_name(link) for link in value)


def _directions(value: Any) -> Choice | Array:
    if not isinstance(value, str):
        array = orthonormal_directions(value)
        assert isinstance(array, Array)
        return array
    for choice in get_args(Choice):
        if value == choice:
            return choice
    raise ValueError(
        'must be "random", "spikes", "last_spikes" or an n × r array with orthonormal columns; '
        "choose"
    )


Links = Annotated[tuple[str, ...], BeforeValidator(_links)]
LinkDirections = Annotated[
    Choice | Array,
    PlainValidator(_directions, json_schema_input_type=Choice | list[list[float]]),
]
LabelNoise = Annotated[float, Strict(), Field(ge=0, le=LARGEST_LABEL, allow_inf_nan=False), NUMPY]


@TEACHERS.built_in
class MultiIndex(TeacherDescription):
    """A teacher of r = len(links) orthogonal directions w*_i of length `norm`.

    `combine`, with s_i = σ*_i(w*_iᵀx): "mean" is (1/r) Σ s_i (Dandi et al. [5]), "sum" Σ s_i,
    "product" Π s_i, "staircase" s_1 + s_1 s_2 + s_1 s_2 s_3 + …; noise·N(0, 1) is added.
    `directions`: "random", "spikes" or "last_spikes" (the first or the last along Σ_{c,i} γ_{c,i},
    the others random), or an n × r array with orthonormal columns.
    """

    kind: Literal["indices"] = Field(
        default="indices", description="Labels by links of several directions."
    )
    links: Links = Field(
        default=("z",), description="Link of each direction: names or formulas of z, as He4/24."
    )
    combine: Literal["mean", "sum", "product", "staircase"] = Field(
        default="mean", description="How the links' values become a label."
    )
    directions: LinkDirections = Field(
        default="random",
        description='"random", "spikes" or "last_spikes" for the first or last one along their '
        "sum, or an n × r array with orthonormal columns.",
    )
    norm: Positive = Field(default=1.0, description="Length of every direction.")
    noise: LabelNoise = Field(
        default=0.0,
        description="Deviation of label noise.",
        json_schema_extra=control(label="Label noise", symbol="δ", low=0, high=1),
    )

    @property
    def rank(self) -> int:
        """r, the number of directions."""
        return len(self.links)

    @property
    def functions(self) -> tuple[str, ...]:
        """The links."""
        return self.links

    def check(self, source: Source, dimension: int) -> None:
        """Raise ValueError where the directions do not fit these data."""
        self.check_dimension(dimension)
        if self.directions in ("spikes", "last_spikes") and not source.has_spikes:
            raise ValueError(
                f'teacher.directions="{self.directions}": the data have no spikes; raise a rank or '
                'choose "random"'
            )

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

    @classmethod
    def complete(cls, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return a problem's fields with isotropic inputs and η = 2k where no data are said.

        So they are published (Dandi et al. [5]).
        """
        if "data" in fields:
            return dict(fields)
        isotropic = MixtureSource(components=(Component(rank=0),))
        scaling = fields.get("scaling", {})
        if isinstance(scaling, dict) and not any(
            scaling.get(name) is not None for name in STEP_SIZE_FIELDS
        ):
            scaling = {**scaling, "per_width": PUBLISHED_RATE}
        return {**fields, "data": isotropic, "scaling": scaling}

    def draw(self, population: Population, norm: float, rng: np.random.Generator) -> Teacher:
        """Return the teacher with its directions drawn; `norm` is ‖Σ‖, which it does not use."""
        directions = self.norm * self._draw_directions(population, rng)
        links = tuple(functions.get(name, field="link") for name in self.links)
        if self.rank == 1:
            return IndexTeacher(directions, links[0], self.noise)
        if self.combine in ("product", "staircase"):
            return JointTeacher(directions, links, self.combine, self.noise)
        parts = tuple(IndexTeacher(directions[:, i : i + 1], link) for i, link in enumerate(links))
        divisor = self.rank if self.combine == "mean" else 1
        return TeacherSum(parts, divisor=float(divisor), added_noise=self.noise)

    def _draw_directions(self, population: Population, rng: np.random.Generator) -> Floats:
        """Return orthonormal columns, those that are random drawn one after the other."""
        if isinstance(self.directions, Array):
            return self.directions.values
        columns = [] if self.directions == "random" else [self._along_spikes(population)]
        while len(columns) < self.rank:
            column = rng.standard_normal(population.dimension)
            for _ in range(2 if columns else 0):  # twice is enough for orthogonality to rounding
                column -= np.stack(columns, axis=1) @ (np.stack(columns) @ column)
            columns.append(scaled_to(column, 1.0))
        if self.directions == "last_spikes":
            columns = [*columns[1:], columns[0]]
        return np.stack(columns, axis=1)

    def _along_spikes(self, population: Population) -> Floats:
        """Return the direction of the spikes' sum."""
        if not np.linalg.norm(population.spike_sum) > 1e-6:
            raise InvalidInput(
                f'teacher.directions="{self.directions}": the sum of all spikes must not vanish; '
                "raise the rank, change the alignment or choose other directions"
            )
        return scaled_to(population.spike_sum, 1.0)


def named_links(teacher: MultiIndex) -> str:
    """Return the field and its links, as a message names them."""
    return f"teacher.links={', '.join(teacher.links)!r}"
