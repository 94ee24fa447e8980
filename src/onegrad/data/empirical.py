"""Real data as a source of samples.

A description may leave out the digest, classes, targets and weights: they follow from the data.
Preparation is by default one shift and one scale for all rows (`centring="midpoint"`), which need
no label of a test point, and no noise is added. With `centring="class"` it is the published one:
classes of one trace, noise of deviation 1.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PlainValidator, model_validator

from onegrad.data.fitting import CANDIDATES, fit_gaussians
from onegrad.data.mixture import Gaussian, Mixture, exact_counts, granules
from onegrad.data.rows_files import (
    LABEL_COLUMN,
    NAMED,
    WITH_NUMBERS,
    Labelled,
    class_name,
    labelled,
    numbered,
    read_labelled,
)
from onegrad.data.rows_preparation import (
    Centring,
    Preparation,
    Prepared,
    Selection,
    of_arrays,
    prepare,
    split,
)
from onegrad.data.source import SOURCES, Source
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.files import said_file
from onegrad.describe.numbers import (
    Array,
    Floats,
    Normals,
    path_of,
    real_numbers,
    shown,
    text,
    whole_number,
)
from onegrad.describe.value import Count, CountOrZero, Flag, NonNegative, Text, Unit, Value, control


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
        chosen = self.prepared.rows[part][self._places(part, start, rows, earlier)]
        block = np.sqrt(self.scale) * self.prepared.centred(part, chosen)
        if self.noise:
            block += self.noise * normals.standard_normal((rows, self.dimension))
        return block

    def _places(
        self, part: int, start: int, rows: int, earlier: tuple[int, ...]
    ) -> NDArray[np.intp]:
        """Return which rows of a part a block has: those after all earlier batches."""
        first = start + sum(exact_counts(self.weights, size)[part] for size in earlier)
        return self.order[part][first : first + rows]

    def row_labels(
        self, part: int, start: int, rows: int, earlier: tuple[int, ...]
    ) -> Floats | None:
        """Return y of rows of a part of a batch, where it is a number of each row."""
        numbers = self.prepared.parts.numbers
        if numbers is None:
            return None
        return numbers[part][self._places(part, start, rows, earlier)]

    @property
    def label_deviation(self) -> float:
        """The deviation of y within the parts, where it is a number of each row."""
        numbers = self.prepared.parts.numbers
        if numbers is None:
            return 0.0
        pairs = zip(self.weights, numbers, self.targets, strict=True)
        return float(np.sqrt(sum(w * np.mean((y - t) ** 2) for w, y, t in pairs)))

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


REST = "rest"  # of the labels, as a class
BY_ROWS = "rows"  # weights: the classes' shares of the rows
DEFAULT_PARTS, MOST_PARTS = 8, 64
SEEMS_CONTINUOUS = 20  # different labels, none of them whole


def class_groups(value: Any) -> tuple[tuple[str, ...], ...]:
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


def _finite_numbers(value: Any) -> tuple[float, ...]:
    numbers = tuple(real_numbers(value))
    if not all(np.isfinite(number) for number in numbers):
        raise ValueError("must be finite numbers; replace them")
    return numbers


Classes = Annotated[
    tuple[tuple[str, ...], ...] | None,
    PlainValidator(class_groups, json_schema_input_type=str | list[str | list[str]]),
]
Numbers = Annotated[
    tuple[float, ...] | None, PlainValidator(_finite_numbers, json_schema_input_type=list[float])
]


def completed(fields: dict[str, Any]) -> dict[str, Any]:
    """Return a description's fields with what follows from the data written out."""
    given = {name: value for name, value in fields.items() if value is not None}
    rows = _described_rows(given)
    if text("digest", given.setdefault("digest", rows.digest)) != rows.digest:
        raise InvalidInput(
            f"digest={shown(given['digest'])}: the data have another, {rows.digest!r}; restore "
            "them, or leave the digest out"
        )
    published = text("centring", given.get("centring", "midpoint")) == "class"
    given.setdefault("equal_traces", published)
    given.setdefault("noise", 1.0 if published else 0.0)
    return _with_parts(given, rows) if rows.numbers is not None else _with_classes(given, rows)


def default_targets(count: int) -> tuple[float, ...]:
    """Return the numbers y of classes where none are given: from +1 down to −1."""
    return (1.0,) if count == 1 else tuple(np.linspace(1.0, -1.0, count).tolist())


def _with_classes(given: dict[str, Any], rows: Labelled) -> dict[str, Any]:
    if "classes" not in given:
        _require_two(rows)
        given["classes"] = rows.names
    try:
        groups = class_groups(given["classes"])
    except ValueError as error:
        raise InvalidInput(f"classes={shown(given['classes'])}: {error}") from None
    groups = _with_rest(groups, rows)
    given["classes"] = groups
    given.setdefault("targets", default_targets(len(groups)))
    given.setdefault("weights", (1 / len(groups),) * len(groups))
    if isinstance(given["weights"], str) and given["weights"] == BY_ROWS:
        known = [[name for name in group if name in rows.names] for group in groups]
        sizes = np.array([np.sum(rows.places(names)) for names in known], float)
        given["weights"] = tuple((sizes / max(sizes.sum(), 1.0)).tolist())
    return given


def _require_two(rows: Labelled) -> None:
    """Raise InvalidInput where classes must be chosen, or where y seems to be a number."""
    if len(rows.names) == 2:
        return
    fractions = sum("." in name and not name.replace(".", "").isalpha() for name in rows.names)
    if fractions > SEEMS_CONTINUOUS:
        raise InvalidInput(
            f"classes: y has {len(rows.names)} different numbers; use response='number' "
            "(--response number), or choose classes, as in 0,1"
        )
    some = ", ".join(rows.names[:10])
    raise InvalidInput(
        f"classes: the data have {len(rows.names)} ({shown(some)[1:-1]}); choose, as in 0,1, or "
        "one against all others, as in 0,rest"
    )


def _with_rest(groups: tuple[tuple[str, ...], ...], rows: Labelled) -> tuple[tuple[str, ...], ...]:
    """Return the groups with the class `rest` as all labels that no other group names."""
    if (REST,) not in groups or REST in rows.names:
        return groups
    taken = {name for group in groups for name in group}
    others = tuple(name for name in rows.names if name not in taken)
    if not others:
        raise InvalidInput(f"classes={REST!r}: no label is left for it; leave it out")
    return tuple(others if group == (REST,) else group for group in groups)


def _with_parts(given: dict[str, Any], rows: Labelled) -> dict[str, Any]:
    """Return the fields of data whose y is a number: what its parts are follows from it."""
    assert rows.numbers is not None
    groups = [[name] for name in rows.names]
    numbers = [rows.numbers[rows.places(names)] for names in groups]
    follows = {
        "classes": tuple((name,) for name in rows.names),
        "targets": tuple(float(np.mean(part)) for part in numbers),
        "weights": tuple(len(part) / len(rows.numbers) for part in numbers),
    }
    for name, value in follows.items():
        if given.setdefault(name, value) != value and given[name] != [*value]:
            raise InvalidInput(
                f"{name}={shown(given[name])}: follows from y where response is 'number'; leave it "
                "out"
            )
    if given.get("centring") == "class":
        raise InvalidInput(
            "centring='class': needs classes, response is 'number'; use 'midpoint' or 'none'"
        )
    return given


def _described_rows(fields: dict[str, Any]) -> Labelled:
    """Return the rows of a file, whose path is made absolute, or of given arrays."""
    file = fields.get("file")
    if (file is None) == (fields.get("inputs") is None):
        raise InvalidInput("data: must have a file or inputs and labels; give one of them")
    if isinstance(file, str) and file in WITH_NUMBERS:
        fields.setdefault("response", "number")
    parts = _parts(fields)
    if file is None:
        return _given_rows(fields, parts)
    if not isinstance(file, str) or not file:
        raise InvalidInput(f"file={shown(file)}: must be a path or a name; give one")
    fields["file"] = file if file in NAMED else _absolute(file)
    column = text("label_column", fields.get("label_column", LABEL_COLUMN))
    return read_labelled(fields["file"], column, parts=parts)


def _absolute(file: str) -> str:
    try:
        return str(path_of("file", file).expanduser().absolute())
    except RuntimeError:
        raise InvalidInput(
            f"file={shown(file)}: there is no such user's folder; write the path out"
        ) from None
    except OSError as error:  # a working folder that is gone
        raise InvalidInput(f"{said_file(file)}: {shown(str(error))[1:-1]}; name it whole") from None


def _parts(fields: dict[str, Any]) -> int | None:
    """Return into how many parts y is cut where it is a number."""
    if text("response", fields.get("response", "class")) != "number":
        if "parts" in fields:
            raise InvalidInput(
                f"parts={shown(fields['parts'])}: belongs to response='number'; leave it out"
            )
        return None
    count = whole_number("parts", fields.setdefault("parts", DEFAULT_PARTS), least=2)
    if count > MOST_PARTS:
        raise InvalidInput(f"parts={count}: must be at most {MOST_PARTS}; lower it")
    return count


def _given_rows(fields: dict[str, Any], parts: int | None) -> Labelled:
    """Return the rows of given arrays, whose labels are places among names, or numbers."""
    names = fields.get("names", ())
    if not isinstance(names, list | tuple):
        raise InvalidInput(f"names={shown(names)}: must be a list of classes; correct it")
    try:
        inputs, labels = Array.of(fields["inputs"]), Array.of(fields.get("labels", ()))
    except ValueError as error:
        raise InvalidInput(f"inputs: {error}") from None
    return of_arrays(inputs, labels, tuple(str(name) for name in names), parts)


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
