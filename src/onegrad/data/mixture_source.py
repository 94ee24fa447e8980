"""The description of a data source: what `draw` turns into a concrete mixture."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, PlainValidator, model_validator

from onegrad.data.mixture import Gaussian, Mixture, align_directions, draw_directions
from onegrad.data.source import SOURCES, Source
from onegrad.describe.numbers import Array, Floats, is_list, real_numbers, shown
from onegrad.describe.value import (
    Cosine,
    CountOrZero,
    Flag,
    NonNegative,
    Positive,
    Real,
    Unit,
    Value,
    control,
)

MOST_COMPONENTS = 10_000


def orthonormal_directions(value: Any) -> Literal["random"] | Array:
    """Return "random" or an n×d Array after checking that its columns are orthonormal."""
    if isinstance(value, str):
        if value != "random":
            raise ValueError('must be "random" or an n×d array with orthonormal columns; choose')
        return "random"
    array = Array.of(value)
    if array.values.ndim == 1:
        array = Array(array.values[:, None])
    if array.values.ndim != 2 or array.values.shape[1] > array.values.shape[0]:
        raise ValueError("must be an n×d array with d ≤ n columns; transpose it")
    gram = array.values.T @ array.values
    if not np.allclose(gram, np.eye(len(gram)), atol=1e-8):
        raise ValueError("must have orthonormal columns; apply numpy.linalg.qr to it")
    return array


def _strengths(value: Any) -> Literal["uniform"] | float | tuple[float, ...]:
    if isinstance(value, str):
        if value != "uniform":
            raise ValueError('must be a number, a list of numbers or "uniform"; choose')
        return "uniform"
    numbers = real_numbers(value)
    if not all(np.isfinite(v) and v >= 0 for v in numbers):
        raise ValueError("must be finite and at least 0; replace it")
    return tuple(numbers) if is_list(value) else numbers[0]


def _mean(value: Any) -> float | Array:
    """Return a finite number, or an Array."""
    if isinstance(value, str | bool):
        raise ValueError("must be a number or an array of n numbers; correct it")
    array = Array.of(value)
    if array.values.ndim > 1 or not array.values.size:
        raise ValueError("must be a number or a flat list of n numbers; correct it")
    return array if array.values.ndim else float(array.values)


Mean = Annotated[float | Array, PlainValidator(_mean, json_schema_input_type=Real | list[float])]
Directions = Annotated[
    Literal["random"] | Array,
    PlainValidator(
        orthonormal_directions, json_schema_input_type=Literal["random"] | list[list[float]]
    ),
]
Strengths = Annotated[
    Literal["uniform"] | float | tuple[float, ...],
    PlainValidator(
        _strengths, json_schema_input_type=Literal["uniform"] | NonNegative | list[NonNegative]
    ),
]


class Component(Value):
    """One component: weight ρ, mean μ, level s², spikes (rank, directions, strengths), label.

    A mean is n numbers, or one number a for a·u, with the unit vector u random and the same for
    all components: 1.5 and −1.5 are two classes at a distance of 3.
    Strengths are multiples of the spread θ: a number or one per spike, or "uniform" for U(0, 1)
    drawn with every mixture.
    """

    weight: Unit = Field(
        default=1.0,
        description="Weight ρ; weights sum to 1.",
        json_schema_extra=control(
            label="Weight",
            symbol="ρ",
            sentence="Share of the inputs that this component makes; the others share the rest.",
            main=True,
        ),
    )
    mean: Mean | None = Field(
        default=None,
        description="Mean μ, n numbers, or its length along one random direction of all "
        "components; zero when left out.",
        json_schema_extra=control(
            label="Mean",
            symbol="μ",
            sentence="How far the component lies from zero, along one direction of all components.",
            low=-5,
            high=5,
        ),
    )
    level: Positive = Field(
        default=1.0,
        description="Isotropic level s².",
        json_schema_extra=control(
            label="Level",
            symbol="s²",
            sentence="Variance of the component in ordinary directions.",
            low=0.1,
            high=10,
            scale="log",
        ),
    )
    rank: CountOrZero = Field(
        default=1,
        description="Spikes; follows from given directions or a list of strengths.",
        json_schema_extra=control(
            label="Strong directions",
            symbol="d",
            sentence="In how many directions the component is stretched.",
            low=0,
            high=10,
            scale="linear",
        ),
    )
    directions: Directions = Field(
        default="random", description='"random", or an n × d array with orthonormal columns.'
    )
    strengths: Strengths = Field(
        default=1.0,
        description='Spike strengths as multiples of θ: a number, a list, or "uniform".',
        json_schema_extra=control(
            label="Stretch",
            symbol="θ_i/θ",
            sentence="How far it is stretched there, over the data spread θ.",
            low=0,
            high=5,
        ),
    )
    label: Real | None = Field(
        default=None,
        description="Read by the labels teacher; ±1 for two components when left out.",
        json_schema_extra=control(
            label="Label",
            symbol="y",
            sentence="The label of this component, where labels are the components.",
            low=-2,
            high=2,
        ),
    )

    @model_validator(mode="before")
    @classmethod
    def _rank_of_given(cls, fields: Any) -> Any:
        """Take the rank from given directions or strengths when it is not said."""
        if isinstance(fields, dict) and "rank" not in fields:
            given = fields.get("directions", "random")
            strengths = fields.get("strengths", 1.0)
            if not isinstance(given, str):
                try:
                    array = orthonormal_directions(given)
                except ValueError:
                    return fields  # the field's own check says what is wrong
                assert isinstance(array, Array)
                return {**fields, "directions": array, "rank": array.shape[1]}
            if not isinstance(strengths, str) and is_list(strengths):
                return {**fields, "rank": len(strengths)}
        return fields

    @model_validator(mode="after")
    def _consistent(self) -> Component:
        if isinstance(self.directions, Array) and self.directions.shape[1] != self.rank:
            raise ValueError(
                f"rank={self.rank}: must equal the {self.directions.shape[1]} given directions; "
                "leave it out"
            )
        if isinstance(self.strengths, tuple) and len(self.strengths) != self.rank:
            raise ValueError(
                f"strengths={self.strengths}: must have one entry per spike, rank is {self.rank}; "
                "change one of them"
            )
        return self

    def draw_strengths(self, spread: float, rng: np.random.Generator) -> Floats:
        """Return θ_i, the strengths times the spread θ."""
        if self.strengths == "uniform":
            return spread * rng.uniform(size=self.rank)
        return spread * np.broadcast_to(np.asarray(self.strengths, float), (self.rank,))


@SOURCES.built_in
class MixtureSource(Source):
    """A Gaussian mixture: its components and how their spikes lie to each other.

    `alignment` is the cosine of spike i of every component with spike i of the first; without
    it random directions are drawn independently. `equal_totals` rescales every component's
    strengths to the sum of the first one's. Exact test errors and theory need such a source.
    """

    kind: Literal["mixture"] = Field(default="mixture", description="A Gaussian mixture.")
    components: tuple[Component, ...] = Field(
        default=(Component(weight=0.5), Component(weight=0.5)), description="The components."
    )
    alignment: Cosine | None = Field(
        default=None,
        description="Cosine of spike i of every component with spike i of the first; drawn "
        "independently when left out.",
        json_schema_extra=control(
            label="Alignment",
            symbol="cos",
            sentence="Cosine of the components' strong directions: −1 opposite, 1 the same.",
            main=True,
        ),
    )
    equal_totals: Flag = Field(
        default=False,
        description="Rescale strengths to the first component's sum.",
        json_schema_extra=control(
            label="Equal totals", sentence="All components are stretched as much as the first."
        ),
    )
    counts: Literal["exact", "sampled"] = Field(
        default="exact",
        description="Component counts of a batch: exact or sampled.",
        json_schema_extra=control(
            label="Counts", sentence="Whether a batch has exactly its share of every component."
        ),
    )

    @model_validator(mode="after")
    def _consistent(self) -> MixtureSource:
        weights = [c.weight for c in self.components]
        if not 1 <= len(weights) <= MOST_COMPONENTS:
            raise ValueError(
                f"components: must be 1 to {MOST_COMPONENTS}, there are {len(weights)}; change them"
            )
        if abs(sum(weights) - 1) > 1e-9:
            remedy = "divide by that" if sum(weights) > 0 else "raise some"
            raise ValueError(
                f"weights={shown(weights)}: must sum to 1, they sum to {sum(weights):.6g}; {remedy}"
            )
        given = [i for i, c in enumerate(self.components) if isinstance(c.directions, Array)]
        if self.alignment is not None and any(i > 0 for i in given):
            raise ValueError(
                f"alignment={self.alignment}: component {max(given)} has given directions; "
                "remove the alignment"
            )
        return self

    def with_labels(self) -> MixtureSource:
        """Return two unlabelled components with the labels +1 and −1."""
        if len(self.components) != 2 or any(c.label is not None for c in self.components):
            return self
        pairs = zip(self.components, (1.0, -1.0), strict=True)
        labelled = tuple(c.model_copy(update={"label": label}) for c, label in pairs)
        return self.model_copy(update={"components": labelled})

    @property
    def all_labels(self) -> tuple[float | None, ...]:
        """The label of each component."""
        return tuple(c.label for c in self.components)

    @property
    def part_labels(self) -> tuple[float | None, ...]:
        """The label of each component of positive weight."""
        return tuple(c.label for c in self.components if c.weight > 0)

    @property
    def has_spikes(self) -> bool:
        """Whether a component of positive weight has spikes."""
        return any(c.rank and c.weight for c in self.components)

    @property
    def theory_parts(self) -> int:
        """Components that moments are summed over."""
        return len(self.part_labels)

    @property
    def theory_columns(self) -> int:
        """Vectors of length n that the mixture holds."""
        return sum(4 + 4 * component.rank for component in self.components)

    def check_dimension(self, dimension: int) -> None:
        """Raise ValueError where a component does not fit into this dimension."""
        for index, c in enumerate(self.components):
            where = f"data.components.{index}"
            if isinstance(c.mean, Array) and c.mean.shape != (dimension,):
                raise ValueError(
                    f"{where}.mean: has shape {c.mean.shape}, must have length dimension="
                    f"{dimension}; change one of them"
                )
            if isinstance(c.directions, Array) and c.directions.shape[0] != dimension:
                raise ValueError(
                    f"{where}.directions: has {c.directions.shape[0]} rows, must have dimension="
                    f"{dimension}; change one of them"
                )
            shared = self.components[0].rank if self.alignment is not None and index else 0
            if c.rank > dimension:
                raise ValueError(
                    f"{where}.rank={c.rank}: must be at most {dimension}, the dimension; lower it"
                )
            if c.rank + shared > dimension:
                raise ValueError(
                    f"{where}.rank={c.rank}: with an alignment it must fit into dimension="
                    f"{dimension} beside rank {shared} of component 0; lower both ranks, or leave "
                    "alignment out"
                )

    def draw(self, dimension: int, spread: float, rng: np.random.Generator) -> Mixture:
        """Return a concrete mixture: directions and strengths drawn, spread θ applied."""
        drawn: list[Gaussian] = []
        means = self._means(dimension, rng)
        for c, mean in zip(self.components, means, strict=True):
            strengths = c.draw_strengths(spread, rng)
            if isinstance(c.directions, Array):
                directions: Floats = c.directions.values
            elif drawn and self.alignment is not None:
                directions = align_directions(drawn[0].directions, c.rank, self.alignment, rng)
            else:
                directions = draw_directions(dimension, c.rank, rng)
            if drawn and self.equal_totals and strengths.sum() > 0:
                strengths = strengths * (drawn[0].strengths.sum() / strengths.sum())
            drawn.append(Gaussian(c.weight, mean, c.level, directions, strengths, c.label))
        return Mixture(tuple(drawn), self.counts)

    def _means(self, dimension: int, rng: np.random.Generator) -> list[Floats | None]:
        """Return every component's mean; a number is the length along one random direction."""
        direction: Floats = np.zeros(dimension)
        if any(isinstance(c.mean, float) for c in self.components):
            # From a child, so that spikes are the same with and without means.
            direction = draw_directions(dimension, 1, rng.spawn(1)[0])[:, 0]
        means: list[Floats | None] = []
        for c in self.components:
            if isinstance(c.mean, Array):
                means.append(c.mean.values)
            else:
                means.append(None if c.mean is None else c.mean * direction)
        return means
