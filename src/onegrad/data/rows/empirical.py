"""The description of real data as a source of samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from onegrad.data.counts import exact_counts
from onegrad.data.rows.completion import (
    MOST_PARTS,
    Classes,
    Numbers,
    completed,
    default_targets,
)
from onegrad.data.rows.fitting import CANDIDATES
from onegrad.data.rows.preparation import Centring, Preparation, Selection, prepare, split
from onegrad.data.rows.reading import LABEL_COLUMN, labelled, numbered
from onegrad.data.rows.row_population import EmpiricalPopulation
from onegrad.data.source import SOURCES, Source
from onegrad.describe.arrays import Array
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.fields import Count, CountOrZero, Flag, NonNegative, Text, Unit, control
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
    seed: CountOrZero = Field(
        default=0,
        description="Seed of the clustering.",
        json_schema_extra=control(hidden=True),
    )


@SOURCES.built_in
class EmpiricalData(Source):
    """Rows of a data set: `EmpiricalData(X, y)`, or `file` (.npz, CSV, Parquet, or a known name).

    `classes` are the labels taken, each a part of the population; the rows of several labels in
    one group form one, `rest` is all others. `targets` are the numbers y of the parts (from +1 down
    to −1), `weights` their shares. With `response="number"` y is a number of each row, and its
    quantiles cut the rows into `parts`. `centring` subtracts the midpoint of the class means, each
    class's own mean (as published; a test point's label is needed for it), or nothing;
    `standardise` divides features by their deviations; `equal_traces` scales the classes to the
    first one's trace; `rescale` brings the trace to the spread θ; `noise` is the deviation of the
    normals added to every input. Of each class the part `fit_share` of the rows is kept from the
    networks, for `fit`.
    """

    exact_moments: ClassVar[bool] = False
    rivals: ClassVar[dict[str, tuple[str, ...]]] = {
        "file": ("digest", "inputs", "labels", "names"),
        "label_column": ("digest",),
        "response": ("digest", "parts", "classes", "targets", "weights"),
        "parts": ("digest", "classes", "targets", "weights"),
    }

    kind: Literal["empirical"] = Field(default="empirical", description="Rows of a data set.")
    file: Text | None = Field(
        default=None,
        description="Real data: .npz with X and y, CSV or Parquet, or a known name.",
        json_schema_extra=control(hidden=True),
    )
    inputs: Array | None = Field(default=None, description="Rows × features, in place of a file.")
    labels: Array | None = Field(
        default=None, description="The place of each row's class among `names`."
    )
    names: tuple[Text, ...] | None = Field(default=None, description="The classes of given rows.")
    label_column: Text = Field(
        default=LABEL_COLUMN,
        description="Column of a table that holds the labels.",
        json_schema_extra=control(hidden=True),
    )
    digest: Text | None = Field(
        default=None,
        description="SHA-256 of the rows; checked where it is given.",
        json_schema_extra=control(hidden=True),
    )
    classes: Classes = Field(
        default=None,
        description="Labels taken, as 0,1; + groups several, as 0+2,1+3; rest is all others.",
    )
    response: Literal["class", "number"] = Field(
        default="class", description="What y is: a class, or a number of each row."
    )
    parts: Count | None = Field(
        default=None, description="Parts into which a number y is cut for sampling and theory; 8."
    )
    targets: Numbers = Field(
        default=None, description="The number y of each class; from +1 down to −1."
    )
    weights: Numbers = Field(
        default=None, description="The share of each class; equal when left out, rows: as in them."
    )
    centring: Centring = Field(
        default="midpoint",
        description="Subtract the midpoint of the class means, each class's own, or none.",
    )
    standardise: Flag = Field(default=False, description="Divide features by their deviations.")
    equal_traces: Flag | None = Field(
        default=None,
        description="Scale classes to the first one's trace; yes with class centring alone.",
    )
    rescale: Flag = Field(default=True, description="Bring the trace to the spread θ.")
    noise: NonNegative | None = Field(
        default=None,
        description="Deviation of noise added to every input; 1 with class centring.",
        json_schema_extra=control(
            label="Input noise",
            sentence="How much random noise every input gets.",
            low=0,
            high=3,
            main=True,
        ),
    )
    fit_share: Unit = Field(
        default=0.5, description="Share of rows kept from networks, to fit a mixture to."
    )
    fit: MixtureFit = Field(default=MixtureFit(), description="The mixture that theory reads.")

    def __init__(self, inputs: Any = None, labels: Any = None, /, **fields: Any) -> None:
        if inputs is not None or labels is not None:
            if inputs is None or labels is None or "file" in fields:
                raise InvalidInput("inputs: must come with labels and without a file; give both")
            if fields.get("response") == "number":
                rows = numbered(inputs, labels, fields.get("parts") or MOST_PARTS)
                fields |= {"inputs": rows.inputs, "labels": np.asarray(labels, dtype=float)}
            else:
                rows = labelled(inputs, labels)
                fields |= {"inputs": rows.inputs, "labels": rows.codes, "names": rows.names}
        super().__init__(**fields)

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, fields: Any) -> Any:
        """Write out what follows from the data."""
        return completed(fields) if isinstance(fields, dict) else fields

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
        assert self.noise is not None
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
            parts=self.parts,
        )
        return Preparation(
            selection,
            self.weights or (),
            self.centring,
            bool(self.equal_traces),
            self.standardise,
        )

    @property
    def reads_test_labels(self) -> bool:
        """Whether a row is prepared by its own class, so that a test point's must be known."""
        several = len(self.classes or ()) > 1
        return several and (self.centring == "class" or bool(self.equal_traces))

    def identity(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Return the description without what the digest of the data stands for."""
        places = ("file", "label_column", "inputs", "labels", "names")
        known = {name: value for name, value in fields.items() if name not in places}
        # Fields that came later: rows stored before them are still those of their defaults.
        later = {"response": "class", "standardise": False}
        return {n: v for n, v in known.items() if n not in later or v != later[n]}

    def complete(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return a problem's fields with what real data determine, and the published scales.

        More than two classes with numbers of no meaning get an output each.
        """
        follows: dict[str, Any] = {"dimension": self.dimension, "test": "sampled"}
        readout = fields.get("readout", {})
        several = len(self.all_labels) > 2 and self.all_labels == default_targets(
            len(self.all_labels)
        )
        teacher, scaling = fields.get("teacher", {}), fields.get("scaling", {})
        if isinstance(teacher, dict) and not {"kind", "link", "links", "direction"} & set(teacher):
            teacher = {"kind": "labels", **teacher}
            if several and self.response == "class" and isinstance(readout, dict):
                follows["readout"] = {"outputs": "classes", **readout}
                fields = {name: value for name, value in fields.items() if name != "readout"}
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

    def remaining(self, sizes: Sequence[int]) -> int:
        """Return how many rows are left, in the classes' shares, beside disjoint sets."""
        weights = np.asarray(self.weights)
        used = np.sum([exact_counts(weights, size) for size in sizes], axis=0)
        left = np.array([len(rows) for rows in prepare(self.preparation).rows]) - used
        if np.min(left) < 1:
            return 1  # which check_sizes refuses, and says why
        size = int(np.min(left / weights)) + len(left)
        while np.any(np.array(exact_counts(weights, size)) > left):
            size -= 1
        return max(size, 1)

    def draw(self, dimension: int, spread: float, rng: np.random.Generator) -> EmpiricalPopulation:
        """Return the population of one trial: rows in an order of its own, spread θ applied."""
        prepared = prepare(self.preparation)
        order = tuple(rng.permutation(len(rows)) for rows in prepared.rows)
        scale = spread / prepared.trace if self.rescale else 1.0
        fit = (self.fit.components_per_class, self.fit_rank, self.fit.seed)
        noise = self.noise or 0.0
        return EmpiricalPopulation(self.preparation, self.all_labels, scale, noise, fit, order)
