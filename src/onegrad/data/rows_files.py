"""Labelled rows from arrays, files (.npz, CSV, Parquet) and data sets known by name.

Files may come from others: nothing is read before its size is known. Only a regular file is read,
at most `LARGEST_TEXT` bytes of CSV, and arrays or Parquet of at most `LARGEST_VALUES` bytes once
unpacked, whatever a header or an archive claims.
"""

from __future__ import annotations

import csv
import functools
import math
import re
import stat
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onegrad.data.fashion_mnist import load_fashion_mnist, load_sample
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.extras import require_extra
from onegrad.describe.files import (
    GIB,
    LARGEST_VALUES,
    Damaged,
    array_names,
    digest_of_bytes,
    read_arrays,
    require_size,
    said_file,
)
from onegrad.describe.numbers import holds_masked, shown

ARRAY_NAMES = (("X", "y"), ("inputs", "labels"), ("images", "labels"), ("data", "target"))
LARGEST_TEXT = GIB  # bytes of a CSV: two of them may become a number of eight
LIKE_AN_INDEX = re.compile(r"(unnamed: \d+|.*(^|[^a-z])(id|idx|index|uuid|row|rownames)|)")
LEAST_COUNTED = 10  # rows from which a column 0, 1, 2, … is taken for their number
Arrays = tuple[NDArray[Any], NDArray[Any]]


def read_rows(path: Path, label_column: str) -> Arrays:
    """Return features and labels of a file by its ending."""
    kinds = {".npz": _read_npz, ".csv": _read_csv, ".parquet": _read_parquet}
    ending = path.suffix.lower()
    if ending not in kinds:
        raise InvalidInput(
            f"{said_file(path)}: must end in {', '.join(kinds)}, or be a known name; convert it"
        )
    try:
        state = path.stat()
    except OSError as error:
        raise InvalidInput(f"{said_file(path)}: {error.strerror}; name another") from None
    if not stat.S_ISREG(state.st_mode):
        raise InvalidInput(
            f"{said_file(path)}: must be a regular file, not a device, pipe or folder; name one"
        )
    require_size(path, state.st_size, LARGEST_TEXT if ending == ".csv" else LARGEST_VALUES)
    return kinds[ending](path, label_column)


def _read_npz(path: Path, _: str) -> Arrays:
    try:
        names = array_names(path)
        pair = next((pair for pair in ARRAY_NAMES if set(pair) <= set(names)), None)
        if pair is not None:
            arrays = read_arrays(path, pair)
            return arrays[pair[0]], arrays[pair[1]]
    except (Damaged, OSError) as error:
        if "Object arrays" in str(error):
            raise InvalidInput(
                f"{said_file(path)}: holds Python objects; save labels as y.astype(str)"
            ) from None
        raise InvalidInput(f"{said_file(path)}: is not a readable .npz; restore it") from None
    found = shown(", ".join(names) or "nothing").strip("'\"")
    raise InvalidInput(f"{said_file(path)}: must hold arrays X and y, it holds {found}; rename")


def _exact(pandas_version: str) -> dict[str, Any]:
    """Return what makes pandas read numbers to the last bit: nothing from 3.1 on, when it does."""
    major, minor = pandas_version.split(".")[:2]
    return {} if (int(major), int(minor)) >= (3, 1) else {"float_precision": "round_trip"}


def _read_csv(path: Path, label_column: str) -> Arrays:
    require_extra(said_file(path), "frames")
    import pandas as pd

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            warnings.simplefilter("ignore", pd.errors.DtypeWarning)
            # Without index_col=False a longer row would make its first field an index, and
            # every column would hold its neighbour's numbers.
            frame = pd.read_csv(path, index_col=False, **_exact(pd.__version__))
            _require_distinct(path)
    except InvalidInput:
        raise
    except pd.errors.ParserWarning:
        raise _longer_row(path, "") from None
    except (OSError, ValueError, pd.errors.ParserError, OverflowError, MemoryError) as error:
        raise _longer_row(path, str(error)) from None
    return _of_frame(path, frame, label_column)


def _require_distinct(path: Path) -> None:
    """Raise InvalidInput where two columns of a CSV have one name: labels would be features."""
    with path.open(newline="", encoding="utf-8") as stream:
        names = [name for name in next(csv.reader(stream), []) if name]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InvalidInput(
            f"{said_file(path)}: names the column {shown(twice[0])} twice; rename one"
        )


def _longer_row(path: Path, reason: str) -> InvalidInput:
    """Return what to say of a CSV: the first row that is longer than its header, or the reason."""
    try:
        with path.open(newline="", encoding="utf-8") as stream:
            lines = csv.reader(stream)
            columns = len(next(lines, []))
            for row in lines:
                if len(row) > columns:
                    return InvalidInput(
                        f"{said_file(path)}: line {lines.line_num} has {len(row)} fields, "
                        f"the header has {columns}; name every column, or remove the surplus"
                    )
    except (OSError, ValueError, csv.Error) as error:
        reason = reason or str(error)
    said = shown(reason or "a row is longer than the header").strip("'\"")
    return InvalidInput(f"{said_file(path)}: cannot be read ({said}); correct it")


def _read_parquet(path: Path, label_column: str) -> Arrays:
    require_extra(said_file(path), "parquet")
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path) as stored:
            about = stored.metadata
            unpacked = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
            require_size(path, max(8 * about.num_rows * about.num_columns, unpacked))
            frame = stored.read().to_pandas()
    except (OSError, ValueError, ArrowException, MemoryError, OverflowError) as error:
        if isinstance(error, InvalidInput):
            raise
        reason = shown(str(error)).strip("'\"")
        raise InvalidInput(f"{said_file(path)}: cannot be read ({reason}); correct it") from None
    return _of_frame(path, frame, label_column)


def _of_frame(path: Path, frame: Any, label_column: str) -> Arrays:
    """Return the numbers of a table's columns, and the label column."""
    if label_column not in frame:
        raise InvalidInput(
            f"label_column={label_column!r}: {path.name} has no such column; name one of "
            f"{shown([str(c) for c in frame.columns])}"
        )
    features = frame.drop(columns=label_column)
    kinds = zip(features.columns, features.dtypes, strict=True)
    words = [str(name) for name, kind in kinds if getattr(kind, "kind", "O") not in "iufb"]
    if words:
        raise InvalidInput(
            f"{said_file(path)}: column {shown(words[0])} holds no numbers; drop or encode it"
        )
    _note_indices(path, features)
    return features.to_numpy(), frame[label_column].to_numpy()


def _note_indices(path: Path, features: Any) -> None:
    """Warn of columns that seem to number or name the rows, by their names or their values."""
    named = [
        str(name)
        for place, name in enumerate(features.columns)
        if LIKE_AN_INDEX.fullmatch(str(name).strip().lower())
        or _counts_rows(features.iloc[:, place].to_numpy())
    ]
    if named:
        warnings.warn(
            f"{path.name}: column {', '.join(repr(name) for name in named[:5])} looks like an "
            "index of the rows and is read as a feature; remove it if it is one",
            stacklevel=2,
        )


def _counts_rows(column: NDArray[Any]) -> bool:
    """Return whether a column is k, k + 1, k + 2, …"""
    whole = column.dtype.kind in "iu" and len(column) >= LEAST_COUNTED
    return bool(whole and np.array_equal(column, column[0] + np.arange(len(column))))


PACKAGED_SETS = ("digits", "breast_cancer", "wine", "diabetes")  # that come with scikit-learn
NAMED = ("fashion-mnist", "fashion-mnist-sample", *PACKAGED_SETS)
WITH_NUMBERS = ("diabetes",)  # whose y is a number, not a class
LABEL_COLUMN = "label"
BYTE = 255
PIXEL = 1 / BYTE


@dataclass(frozen=True)
class Labelled:
    """Rows of inputs in units of `unit`, and for each the place of its class among `names`."""

    inputs: NDArray[Any]
    codes: NDArray[np.intp]
    names: tuple[str, ...]
    unit: float = 1.0
    numbers: NDArray[np.float64] | None = None  # y of each row, where it is a number

    def rows(self, names: Sequence[str]) -> NDArray[Any]:
        """Return the rows of these classes."""
        return self.inputs[self.places(names)]

    def places(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """Return which rows belong to these classes."""
        chosen: NDArray[np.bool_] = np.isin(self.codes, [self.names.index(name) for name in names])
        return chosen

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of values, codes and names; whether whole numbers are stored as bytes or not."""
        values = self.inputs
        if values.dtype.itemsize > 1 and values.min() >= 0 and values.max() <= BYTE:
            small = values.astype(np.uint8)
            values = small if np.array_equal(small, values) else values
        kind = np.uint8 if values.dtype.itemsize == 1 else np.dtype("<f8")
        known = self.codes.astype("<i8") if self.numbers is None else self.numbers.astype("<f8")
        names = self.names if self.numbers is None else "numbers"
        return "sha256:" + digest_of_bytes(
            repr((values.shape, names, self.unit)).encode(),
            np.ascontiguousarray(values, dtype=kind).data,
            np.ascontiguousarray(known).data,
        )


def class_name(value: Any) -> str:
    """Return a class as text: whole numbers without a point, texts without outer spaces."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float) and math.isfinite(plain) and plain == int(plain):
        plain = int(plain)
    return str(plain).strip()


def labelled(
    inputs: ArrayLike, labels: ArrayLike, *, unit: float = 1.0, where: str = "inputs"
) -> Labelled:
    """Return checked rows; labels may be numbers or texts. Bytes stay bytes."""
    x, y = _checked_rows(inputs, labels, where)
    # By name, not by value: a class is what its name says, wherever the labels come from.
    names, codes = np.unique([class_name(value) for value in y.tolist()], return_inverse=True)
    return Labelled(x, codes.reshape(-1), tuple(str(name) for name in names), unit)


def numbered(
    inputs: ArrayLike, numbers: ArrayLike, parts: int, *, where: str = "inputs"
) -> Labelled:
    """Return checked rows whose y is a number; its quantiles cut them into parts 1, 2, …

    Numbers are brought to mean 0 and deviation 1, so that an error of 1 is that of the mean.
    Equal numbers fall into one part, so that there may be fewer.
    """
    x, y = _checked_rows(inputs, numbers, where)
    if y.dtype.kind not in "iufb":
        raise InvalidInput(f"{where}: y must hold numbers, it holds {y.dtype}; use classes")
    values = y.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        values = (values - values.mean()) / values.std()
    if not np.all(np.isfinite(values)):
        raise InvalidInput(f"{where}: y must vary and have a finite variance; scale it")
    edges = np.quantile(values, np.arange(1, parts) / parts)
    found, codes = np.unique(np.searchsorted(edges, values, side="right"), return_inverse=True)
    if len(found) < 2:
        raise InvalidInput(f"{where}: y is one number in most rows; cut it into more parts")
    names = tuple(str(place) for place in range(1, len(found) + 1))
    return Labelled(x, codes.reshape(-1), names, numbers=values)


def _checked_rows(
    inputs: ArrayLike, labels: ArrayLike, where: str
) -> tuple[NDArray[Any], NDArray[Any]]:
    for name, given in ((where, inputs), ("labels", labels)):
        if holds_masked(given):
            raise InvalidInput(f"{name}: must not have masked entries; fill or drop them")
    try:
        x, y = np.asarray(inputs), np.asarray(labels)
    except (TypeError, ValueError, RuntimeError):
        raise InvalidInput(f"{where}: rows must be equally long; correct them") from None
    if y.dtype.kind in "cV":
        raise InvalidInput(f"labels: must be numbers or texts, they are {y.dtype}; convert them")
    if x.dtype.kind not in "iufb":
        raise InvalidInput(f"{where}: must hold numbers, it holds {x.dtype}; convert it")
    if x.ndim > 2 and len(x):
        x = x.reshape(len(x), -1)  # images as rows of pixels
    if x.ndim != 2 or y.shape != (len(x),) or not x.size:
        raise InvalidInput(
            f"{where}: shapes {x.shape} and {y.shape} must be rows × features and one label per "
            "row; correct them"
        )
    x = x.astype(np.uint8 if x.dtype in (np.bool_, np.uint8) else np.float64, copy=False)
    _require_finite(where, x, y)
    return x, y


def _require_finite(where: str, x: NDArray[Any], y: NDArray[Any]) -> None:
    if x.dtype.kind == "f" and not np.all(np.isfinite(x)):
        row, column = (int(i) for i in np.argwhere(~np.isfinite(x))[0])
        raise InvalidInput(
            f"{where}: row {row}, feature {column} is {x[row, column]}, must be finite; replace or "
            "remove it"
        )
    for row, label in enumerate(y.tolist()):
        if label is None or (isinstance(label, float) and not math.isfinite(label)):
            raise InvalidInput(f"{where}: the label of row {row} is missing; remove the row")


def read_labelled(
    file: str, label_column: str = LABEL_COLUMN, *, parts: int | None = None
) -> Labelled:
    """Return the rows of a named data set or of a file; read once per process while unchanged.

    With `parts`, y is a number that is cut into them.
    """
    if file in NAMED:
        return _named(file) if parts is None else _named(file, parts)
    path = Path(file)
    try:
        state = path.stat()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "cannot be read"
        raise InvalidInput(
            f"{said_file(file)}: {reason}; name a file, or one of {', '.join(NAMED)}"
        ) from None
    return _read(path, label_column, parts, (state.st_mtime_ns, state.st_size, state.st_ino))


def is_here(name: str) -> bool:
    """Return whether a named data set can be read on this machine."""
    try:
        _named(name)
    except InvalidInput:  # not found, or damaged: who asks for it by name is told
        return False
    return True


@functools.lru_cache(maxsize=2)
def _named(name: str, parts: int | None = None) -> Labelled:
    if name in PACKAGED_SETS:
        require_extra(f"file={name!r}", "data")
        from sklearn import datasets  # late: it takes a second to import

        x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        return _rows(x, y, parts, where=f"file={name!r}")
    if parts is not None:
        raise InvalidInput(f"file={name!r}: its y are classes, no numbers; leave response out")
    fashion = load_fashion_mnist() if name == "fashion-mnist" else load_sample()
    return labelled(fashion.images, fashion.labels, unit=PIXEL)


@functools.lru_cache(maxsize=1)
def _read(path: Path, label_column: str, parts: int | None, stamp: tuple[int, ...]) -> Labelled:
    return _rows(*read_rows(path, label_column), parts, where=said_file(path))


def _rows(x: ArrayLike, y: ArrayLike, parts: int | None, *, where: str) -> Labelled:
    return labelled(x, y, where=where) if parts is None else numbered(x, y, parts, where=where)
