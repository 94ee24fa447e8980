"""Labelled rows from arrays, files (.npz, CSV, Parquet) and data sets known by name."""

from __future__ import annotations

import functools
import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onegrad.data.fashion_mnist import DataNotFound, load_fashion_mnist, load_sample
from onegrad.validation import InvalidInput, shown

NAMED = ("fashion-mnist", "fashion-mnist-sample", "digits")
ARRAY_NAMES = (("X", "y"), ("inputs", "labels"), ("images", "labels"), ("data", "target"))
LABEL_COLUMN = "label"
PIXEL = 1 / 255


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
        """SHA-256 of inputs, codes and names."""
        hasher = hashlib.sha256(repr((self.inputs.shape, self.names, self.unit)).encode())
        for array, kind in (
            (self.inputs, self.inputs.dtype.newbyteorder("<")),
            (self.codes, "<i8"),
        ):
            hasher.update(np.ascontiguousarray(array, dtype=kind).data)
        return "sha256:" + hasher.hexdigest()


def class_name(value: Any) -> str:
    """Return a class as text: 0, 0.0 and "0" are the same class."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, str):
        text = plain.strip()
        try:
            plain = float(text)
        except ValueError:
            return text
    number = isinstance(plain, int | float) and not isinstance(plain, bool)
    return f"{plain:g}" if number and plain == int(plain) else str(plain)


def labelled(
    inputs: ArrayLike, labels: ArrayLike, *, unit: float = 1.0, where: str = "inputs"
) -> Labelled:
    """Return checked rows; labels may be numbers or texts. Pixels stay bytes."""
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
    if x.dtype.itemsize > 1:
        x = x.astype(np.float64, copy=False)
    _require_finite(where, x, y)
    values, codes = np.unique(y, return_inverse=True)
    return Labelled(x, codes.reshape(-1), tuple(class_name(value) for value in values), unit)


def _require_finite(where: str, x: NDArray[Any], y: NDArray[Any]) -> None:
    if x.dtype.kind == "f" and not np.all(np.isfinite(x)):
        row, column = (int(i) for i in np.argwhere(~np.isfinite(x))[0])
        raise InvalidInput(
            f"{where}: row {row}, feature {column} is {x[row, column]}, must be finite; replace or "
            "remove it"
        )
    if y.dtype.kind == "f" and not np.all(np.isfinite(y)):
        row = int(np.argmax(~np.isfinite(y)))
        raise InvalidInput(f"{where}: the label of row {row} is {y[row]}; remove the row")


def read_labelled(file: str, label_column: str = LABEL_COLUMN) -> Labelled:
    """Return the rows of a named data set or of a file; read once per process while unchanged."""
    if file in NAMED:
        return _named(file)
    path = Path(file)
    try:
        stamp = path.stat().st_mtime_ns
    except OSError as error:
        reason = error.strerror or "cannot be read"
        raise InvalidInput(
            f"file={file!r}: {reason}; name a file, or one of {', '.join(NAMED)}"
        ) from None
    return _read(path, label_column, stamp)


def is_here(name: str) -> bool:
    """Return whether a named data set can be read on this machine."""
    try:
        _named(name)
    except DataNotFound:
        return False
    return True


@functools.lru_cache(maxsize=1)
def _named(name: str) -> Labelled:
    if name == "digits":
        from sklearn.datasets import load_digits  # late: it takes a second to import

        bunch = load_digits()
        return labelled(bunch.data, bunch.target)
    found = load_fashion_mnist() if name == "fashion-mnist" else load_sample()
    return labelled(found.images, found.labels, unit=PIXEL)


@functools.lru_cache(maxsize=1)
def _read(path: Path, label_column: str, stamp: int) -> Labelled:
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
            held = ", ".join(stored) or "nothing"
    except (OSError, ValueError, TypeError, EOFError, BadZipFile, zlib.error, AttributeError):
        raise InvalidInput(f"file={str(path)!r}: is not a readable .npz; restore it") from None
    raise InvalidInput(f"file={str(path)!r}: must hold arrays X and y, it holds {held}; rename")


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
