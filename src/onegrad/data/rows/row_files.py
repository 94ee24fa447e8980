"""Arrays of features and labels from files: .npz, CSV and Parquet, within stated limits.

Files come from others: nothing is read before its size is known. A regular file alone is read,
`LARGEST_TEXT` bytes of CSV, and arrays or Parquet of at most `LARGEST_VALUES` bytes once unpacked,
whatever a header or an archive claims.
"""

from __future__ import annotations

import csv
import re
import stat
import warnings
import zlib
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from onegrad.describe.bounded_files import (
    GIB,
    LARGEST_VALUES,
    check_claims,
    require_size,
    said_file,
)
from onegrad.describe.checks import shown
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.extras import require_extra

ARRAY_NAMES = (("X", "y"), ("inputs", "labels"), ("images", "labels"), ("data", "target"))
LARGEST_TEXT = GIB  # bytes of a CSV: two of them may become a number of eight
LIKE_AN_INDEX = re.compile(r"(unnamed: \d+|.*(^|[^a-z])(id|idx|index|uuid|row|rownames)|)")
LEAST_COUNTED = 10  # rows from which a column 0, 1, 2, … is taken for their number
Arrays = tuple[NDArray[Any], NDArray[Any]]


def read_arrays(path: Path, label_column: str) -> Arrays:
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
        with np.load(path, allow_pickle=False) as stored:
            for x, y in ARRAY_NAMES:
                if x in stored and y in stored:
                    check_claims(path, (x, y))
                    return stored[x], stored[y]
            names = shown(", ".join(stored) or "nothing").strip("'\"")
    except InvalidInput:
        raise
    except (
        *(OSError, ValueError, TypeError, EOFError, BadZipFile, zlib.error, AttributeError),
        *(KeyError, MemoryError, NotImplementedError, RuntimeError, OverflowError),
    ) as error:
        if "Object arrays" in str(error):
            raise InvalidInput(
                f"{said_file(path)}: holds Python objects; save labels as y.astype(str)"
            ) from None
        raise InvalidInput(f"{said_file(path)}: is not a readable .npz; restore it") from None
    raise InvalidInput(f"{said_file(path)}: must hold arrays X and y, it holds {names}; rename")


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
