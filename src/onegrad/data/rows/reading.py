"""Labelled rows from arrays, files (.npz, CSV, Parquet) and data sets known by name."""

from __future__ import annotations

import functools
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onegrad.data.rows.fashion_mnist import load_fashion_mnist, load_sample
from onegrad.describe.checks import shown
from onegrad.describe.digests import digest_of_bytes
from onegrad.describe.exceptions import InvalidInput

NAMED = ("fashion-mnist", "fashion-mnist-sample", "digits")
ARRAY_NAMES = (("X", "y"), ("inputs", "labels"), ("images", "labels"), ("data", "target"))
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

    def rows(self, names: Sequence[str]) -> NDArray[Any]:
        """Return the rows of these classes."""
        return self.inputs[np.isin(self.codes, [self.names.index(name) for name in names])]

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of values, codes and names; whether whole numbers are stored as bytes or not."""
        values = self.inputs
        if values.dtype.itemsize > 1 and values.min() >= 0 and values.max() <= BYTE:
            small = values.astype(np.uint8)
            values = small if np.array_equal(small, values) else values
        kind = np.uint8 if values.dtype.itemsize == 1 else np.dtype("<f8")
        return "sha256:" + digest_of_bytes(
            repr((values.shape, self.names, self.unit)).encode(),
            np.ascontiguousarray(values, dtype=kind).data,
            np.ascontiguousarray(self.codes, dtype="<i8").data,
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
    try:
        x, y = np.asarray(inputs), np.asarray(labels)
    except ValueError:
        raise InvalidInput(f"{where}: rows must be equally long; correct them") from None
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
    # By name, not by value: a class is what its name says, wherever the labels come from.
    names, codes = np.unique([class_name(value) for value in y.tolist()], return_inverse=True)
    return Labelled(x, codes.reshape(-1), tuple(str(name) for name in names), unit)


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


def read_labelled(file: str, label_column: str = LABEL_COLUMN) -> Labelled:
    """Return the rows of a named data set or of a file; read once per process while unchanged."""
    if file in NAMED:
        return _named(file)
    path = Path(file)
    try:
        state = path.stat()
    except OSError as error:
        reason = error.strerror or "cannot be read"
        raise InvalidInput(
            f"file={file!r}: {reason}; name a file, or one of {', '.join(NAMED)}"
        ) from None
    return _read(path, label_column, (state.st_mtime_ns, state.st_size, state.st_ino))


def is_here(name: str) -> bool:
    """Return whether a named data set can be read on this machine."""
    try:
        _named(name)
    except InvalidInput:  # not found, or damaged: who asks for it by name is told
        return False
    return True


@functools.lru_cache(maxsize=1)
def _named(name: str) -> Labelled:
    if name == "digits":
        from sklearn.datasets import load_digits  # late: it takes a second to import

        bunch = load_digits()
        return labelled(bunch.data, bunch.target)
    fashion = load_fashion_mnist() if name == "fashion-mnist" else load_sample()
    return labelled(fashion.images, fashion.labels, unit=PIXEL)


@functools.lru_cache(maxsize=1)
def _read(path: Path, label_column: str, stamp: tuple[int, ...]) -> Labelled:
    kinds = {".npz": _read_npz, ".csv": _read_table, ".parquet": _read_table}
    if path.suffix.lower() not in kinds:
        raise InvalidInput(
            f"file={str(path)!r}: must end in {', '.join(kinds)}, or be one of "
            f"{', '.join(NAMED)}; convert it"
        )
    x, y = kinds[path.suffix.lower()](path, label_column)
    return labelled(x, y, where=f"file={str(path)!r}")


def _read_npz(path: Path, _: str) -> tuple[NDArray[Any], NDArray[Any]]:
    try:
        with np.load(path, allow_pickle=False) as stored:
            for x, y in ARRAY_NAMES:
                if x in stored and y in stored:
                    return stored[x], stored[y]
            names = ", ".join(stored) or "nothing"
    except (
        OSError,
        ValueError,
        TypeError,
        EOFError,
        BadZipFile,
        zlib.error,
        AttributeError,
    ) as error:
        if "Object arrays" in str(error):
            raise InvalidInput(
                f"file={str(path)!r}: holds Python objects; save labels as y.astype(str)"
            ) from None
        raise InvalidInput(f"file={str(path)!r}: is not a readable .npz; restore it") from None
    raise InvalidInput(f"file={str(path)!r}: must hold arrays X and y, it holds {names}; rename")


def _read_table(path: Path, label_column: str) -> tuple[NDArray[Any], NDArray[Any]]:
    import pandas as pd

    try:
        reader = pd.read_csv if path.suffix.lower() == ".csv" else pd.read_parquet
        frame = reader(path)
    except ImportError:
        raise InvalidInput(
            f"file={str(path)!r}: Parquet needs pyarrow; pip install 'onegrad[parquet]'"
        ) from None
    except (OSError, ValueError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        reason = shown(str(error)).strip("'\"")
        raise InvalidInput(f"file={str(path)!r}: cannot be read ({reason}); correct it") from None
    if label_column not in frame:
        raise InvalidInput(
            f"label_column={label_column!r}: {path.name} has no such column; name one of "
            f"{shown([str(c) for c in frame.columns])}"
        )
    features = frame.drop(columns=label_column)
    words = [str(c) for c in features if features[c].dtype.kind not in "iufb"]
    if words:
        raise InvalidInput(
            f"file={str(path)!r}: column {words[0]!r} holds no numbers; drop or encode it"
        )
    return features.to_numpy(), frame[label_column].to_numpy()
