"""The description of real data as a source of samples."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, PlainValidator, model_validator

from onegrad.data.counts import exact_counts
from onegrad.data.rows.fitting import CANDIDATES
from onegrad.data.rows.preparation import (
    Centring,
    EmpiricalPopulation,
    Preparation,
    Selection,
    of_arrays,
    prepare,
    split,
)
from onegrad.data.rows.reading import (
    LABEL_COLUMN,
    NAMED,
    Labelled,
    class_name,
    labelled,
    read_labelled,
)
from onegrad.data.source import SOURCES, Source
from onegrad.describe.arrays import Array
from onegrad.describe.checks import real_numbers, shown
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.fields import Count, CountOrZero, Flag, NonNegative, Unit
from onegrad.describe.value import Value

DEFAULT_RANK = 30
LEAST_ROWS = 4
LARGEST_NOISE = 1e6


class MixtureFit(Value):
    """How theory sees the data: components per class and spikes of each.

    Without a number, held-out likelihood chooses among 1, 2, 4, 8 and 16 components; the rank is
    30, or one less than the features.
    """

    components_per_class: Count | None = Field(
        default=None,
        description="Gaussians per class; by held-out likelihood, up to 16, when left out.",
    )
    rank: Count | None = Field(
        default=None, description="Spikes per fitted component; 30, or one less than the features."
    )
    seed: CountOrZero = Field(default=0, description="Seed of the clustering.")


def _classes(value: Any) -> tuple[tuple[str, ...], ...]:
    """Return groups of class names: "0,1", "0+2,1+3", [0, 1] or [[0, 2], [1, 3]]."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, str):
        value = [group.split("+") for group in value.split(",")]
    if not isinstance(value, list | tuple) or not value:
        raise ValueError("must list at least one class; name them")
    groups = [list(g) if isinstance(g, list | tuple) else [g] for g in value]
    named = tuple(tuple(class_name(label) for label in group) for group in groups)
    flat = [name for group in named for name in group]
    if len(set(flat)) < len(flat) or not all(flat) or not all(named):
        raise ValueError("must name every class once; correct it")
    return named


def _numbers(value: Any) -> tuple[float, ...]:
    numbers = tuple(real_numbers(value))
    if not all(np.isfinite(number) for number in numbers):
        raise ValueError("must be finite numbers; replace them")
    return numbers


Classes = Annotated[
    tuple[tuple[str, ...], ...] | None,
    PlainValidator(_classes, json_schema_input_type=str | list[str | list[str]]),
]
Numbers = Annotated[
    tuple[float, ...] | None, PlainValidator(_numbers, json_schema_input_type=list[float])
]


@SOURCES.built_in
class EmpiricalData(Source):
    """Rows of a data set: `EmpiricalData(X, y)`, or `file` (.npz, CSV, Parquet, or a known name).

    `classes` are the labels taken, each a part of the population; the rows of several labels in
    one group form one. `targets` are the numbers y of the parts (+1 and −1 for two), `weights`
    their shares. `centring` subtracts each class's own mean, the midpoint of the class means, or
    nothing; `equal_traces` scales the classes to the first one's trace; `rescale` brings the trace
    to the spread θ; `noise` is the deviation of the normals added to every input. Of each class
    the part `fit_share` of the rows is kept from the networks, for `fit`.
    """

    exact_moments: ClassVar[bool] = False
    rivals: ClassVar[dict[str, tuple[str, ...]]] = {
        "file": ("digest", "inputs", "labels", "names"),
        "label_column": ("digest",),
    }

    kind: Literal["empirical"] = Field(default="empirical", description="Rows of a data set.")
    file: str | None = Field(
        default=None, description="Real data: .npz with X and y, CSV or Parquet, or a known name."
    )
    inputs: Array | None = Field(default=None, description="Rows × features, in place of a file.")
    labels: Array | None = Field(
        default=None, description="The place of each row's class among `names`."
    )
    names: tuple[str, ...] | None = Field(default=None, description="The classes of given rows.")
    label_column: str = Field(
        default=LABEL_COLUMN, description="Column of a table that holds the labels."
    )
    digest: str | None = Field(
        default=None, description="SHA-256 of the rows; checked where it is given."
    )
    classes: Classes = Field(
        default=None, description="Labels taken, as 0,1; + groups several, as 0+2,1+3; both of two."
    )
    targets: Numbers = Field(
        default=None, description="The number y of each class; +1 and −1 for two."
    )
    weights: Numbers = Field(
        default=None, description="The share of each class; equal when left out."
    )
    centring: Centring = Field(
        default="class", description="Subtract class means, the midpoint of them, or none."
    )
    equal_traces: Flag = Field(default=True, description="Scale classes to the first one's trace.")
    rescale: Flag = Field(default=True, description="Bring the trace to the spread θ.")
    noise: NonNegative = Field(default=1.0, description="Deviation of noise added to every input.")
    fit_share: Unit = Field(
        default=0.5, description="Share of rows kept from networks, to fit a mixture to."
    )
    fit: MixtureFit = Field(default=MixtureFit(), description="The mixture that theory reads.")

    def __init__(self, inputs: Any = None, labels: Any = None, /, **fields: Any) -> None:
        if inputs is not None or labels is not None:
            if inputs is None or labels is None or "file" in fields:
                raise InvalidInput("inputs: must come with labels and without a file; give both")
            rows = labelled(inputs, labels)
            fields |= {"inputs": rows.inputs, "labels": rows.codes, "names": rows.names}
        super().__init__(**fields)

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, fields: Any) -> Any:
        """Write out what follows from the data: digest, classes, targets and weights."""
        if not isinstance(fields, dict):
            return fields
        given = {name: value for name, value in fields.items() if value is not None}
        rows = _described_rows(given)
        if given.setdefault("digest", rows.digest) != rows.digest:
            raise InvalidInput(
                f"digest={given['digest']!r}: the data have another, {rows.digest!r}; restore "
                "them, or leave the digest out"
            )
        if "classes" not in given:
            if len(rows.names) != 2:
                some = ", ".join(rows.names[:10])
                raise InvalidInput(
                    f"classes: the data have {len(rows.names)} ({some}); choose, as in 0,1"
                )
            given["classes"] = rows.names
        try:
            count = len(_classes(given["classes"]))
        except ValueError as error:
            raise InvalidInput(f"classes={shown(given['classes'])}: {error}") from None
        if "targets" not in given:
            if count > 2:
                raise InvalidInput(f"targets: must be given for {count} classes; add them")
            given["targets"] = (1.0, -1.0)[:count]
        given.setdefault("weights", (1 / count,) * count)
        return given

    @model_validator(mode="after")
    def _consistent(self) -> EmpiricalData:
        assert self.classes is not None
        assert self.targets is not None
        assert self.weights is not None
        for name in ("targets", "weights"):
            if len(getattr(self, name)) != len(self.classes):
                raise ValueError(
                    f"{name}={getattr(self, name)}: must have one number per class, there are "
                    f"{len(self.classes)}; correct it"
                )
        if min(self.weights) <= 0 or abs(sum(self.weights) - 1) > 1e-9:
            raise ValueError(f"weights={self.weights}: must be positive and sum to 1; correct them")
        if not self.fit_share < 1:
            raise ValueError(f"fit_share={self.fit_share}: leaves no rows for networks; lower it")
        if self.noise > LARGEST_NOISE:
            raise ValueError(f"noise={self.noise:g}: must be at most {LARGEST_NOISE:g}; lower it")
        prepare(self.preparation)  # says what is wrong with the rows
        if self.fit.rank is not None and self.fit.rank >= self.dimension:
            raise ValueError(
                f"fit.rank={self.fit.rank}: must be below the {self.dimension} features; lower it"
            )
        return self

    @property
    def preparation(self) -> Preparation:
        """The part of the description on which the prepared rows depend."""
        selection = Selection(
            file=self.file,
            label_column=self.label_column,
            inputs=self.inputs,
            labels=self.labels,
            names=self.names or (),
            digest=self.digest or "",
            classes=self.classes or (),
            fit_share=self.fit_share,
        )
        return Preparation(selection, self.weights or (), self.centring, self.equal_traces)

    def identity(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Return the description without what the digest of the data stands for."""
        places = ("file", "label_column", "inputs", "labels", "names")
        return {name: value for name, value in fields.items() if name not in places}

    def complete(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return a problem's fields with what real data determine, and the published scales."""
        follows: dict[str, Any] = {"dimension": self.dimension, "test": "sampled"}
        teacher, scaling = fields.get("teacher", {}), fields.get("scaling", {})
        if isinstance(teacher, dict) and not {"kind", "link", "links", "direction"} & set(teacher):
            teacher = {"kind": "labels", **teacher}
        if isinstance(scaling, dict):
            given = {name for name, value in scaling.items() if value is not None}
            rates = given & {"learning_rate", "per_width", "per_root", "change_exponent"}
            default: dict[str, float] = {"strength": 1.0, "weighting": 0.0}
            if rates or "spread" in given:
                default = {"spread": float(self.dimension)}
                default |= {} if rates else {"learning_rate": 1.0}
            scaling = {**default, **{name: scaling[name] for name in given}}
        return {**follows, **fields, "teacher": teacher, "scaling": scaling}

    def for_training(self) -> EmpiricalData:
        """Return the source as networks see it: how a mixture is fitted does not matter to them."""
        return self.model_copy(update={"fit": MixtureFit()})

    @property
    def dimension(self) -> int:
        """Features of a row."""
        return prepare(self.preparation).dimension

    @property
    def all_labels(self) -> tuple[float, ...]:
        """The target of each class."""
        return self.targets or ()

    def check_labels(self) -> None:
        """Raise ValueError where there is only one class."""
        if len(self.all_labels) < 2:
            raise ValueError("data.classes: must be at least two to tell apart; name another")

    @property
    def theory_parts(self) -> int:
        """Components of the mixture that theory reads, at most."""
        return len(self.all_labels) * (self.fit.components_per_class or max(CANDIDATES))

    @property
    def theory_columns(self) -> int:
        """Vectors of length n that the fitted mixture holds."""
        return self.theory_parts * (4 + 4 * self.fit_rank)

    @property
    def fit_rank(self) -> int:
        """Spikes of every fitted component."""
        return min(DEFAULT_RANK, self.dimension - 1) if self.fit.rank is None else self.fit.rank

    @property
    def held_bytes(self) -> float:
        """Bytes of the rows that every worker holds."""
        parts = split(self.preparation.selection)
        return float(sum(rows.nbytes for rows in (*parts.rows, *parts.fitting)))

    def check_fit(self) -> None:
        """Raise InvalidInput where too few rows are kept to fit the mixture to."""
        count = self.fit.components_per_class or 1
        kept = split(self.preparation.selection).fitting
        for names, rows in zip(self.classes or (), kept, strict=True):
            if len(rows) < max(2 * count, LEAST_ROWS):
                raise InvalidInput(
                    f"data.fit_share={self.fit_share:g}: keeps {len(rows)} rows of class "
                    f"{'+'.join(names)}, {max(2 * count, LEAST_ROWS)} are needed for {count} "
                    "components; raise it, or lower components_per_class"
                )

    def check_dimension(self, dimension: int) -> None:
        """Raise ValueError where rows have another number of features."""
        if self.dimension != dimension:
            raise ValueError(
                f"dimension={dimension}: the data have {self.dimension} features; leave it out"
            )

    def check_sizes(self, sizes: dict[str, int]) -> None:
        """Raise ValueError where a class has too few rows for disjoint sets of these sizes."""
        prepared = prepare(self.preparation)
        weights = np.asarray(self.weights)
        needed = np.sum([exact_counts(weights, size) for size in sizes.values()], axis=0)
        for names, rows, need in zip(self.classes or (), prepared.rows, needed, strict=True):
            if need > len(rows):
                kept = f" beside the {self.fit_share:g} kept for fitting" if self.fit_share else ""
                wanted = ", ".join(f"{name}={size}" for name, size in sizes.items())
                raise ValueError(
                    f"{wanted}: disjoint sets need {need} rows of class {'+'.join(names)}, there "
                    f"are {len(rows)}{kept}; lower one of them{' or fit_share' if kept else ''}"
                )

    def draw(self, dimension: int, spread: float, rng: np.random.Generator) -> EmpiricalPopulation:
        """Return the population of one trial: rows in an order of its own, spread θ applied."""
        prepared = prepare(self.preparation)
        order = tuple(rng.permutation(len(rows)) for rows in prepared.rows)
        scale = spread / prepared.trace if self.rescale else 1.0
        fit = (self.fit.components_per_class, self.fit_rank, self.fit.seed)
        return EmpiricalPopulation(self.preparation, self.all_labels, scale, self.noise, fit, order)


def _described_rows(fields: dict[str, Any]) -> Labelled:
    """Return the rows of a file, whose path is made absolute, or of given arrays."""
    file = fields.get("file")
    if (file is None) == (fields.get("inputs") is None):
        raise InvalidInput("data: must have a file or inputs and labels; give one of them")
    if file is None:
        return _given_rows(fields)
    if not isinstance(file, str) or not file:
        raise InvalidInput(f"file={shown(file)}: must be a path or a name; give one")
    fields["file"] = file if file in NAMED else str(Path(file).expanduser().absolute())
    return read_labelled(fields["file"], fields.get("label_column", LABEL_COLUMN))


def _given_rows(fields: dict[str, Any]) -> Labelled:
    """Return the rows of given arrays, whose labels are places among names."""
    names = fields.get("names", ())
    if not isinstance(names, list | tuple):
        raise InvalidInput(f"names={shown(names)}: must be a list of classes; correct it")
    try:
        inputs, labels = Array.of(fields["inputs"]), Array.of(fields.get("labels", ()))
    except ValueError as error:
        raise InvalidInput(f"inputs: {error}") from None
    return of_arrays(inputs, labels, tuple(str(name) for name in names))
