"""Labelled rows from arrays, files (.npz, CSV, Parquet) and data sets known by name."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onegrad.data.rows.fashion_mnist import load_fashion_mnist, load_sample
from onegrad.data.rows.row_files import read_arrays
from onegrad.describe.arrays import holds_masked
from onegrad.describe.bounded_files import said_file
from onegrad.describe.digests import digest_of_bytes
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.extras import require_extra

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
    return _rows(*read_arrays(path, label_column), parts, where=said_file(path))


def _rows(x: ArrayLike, y: ArrayLike, parts: int | None, *, where: str) -> Labelled:
    return labelled(x, y, where=where) if parts is None else numbered(x, y, parts, where=where)
