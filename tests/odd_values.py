"""Values that no argument is meant to have, and what a call with one of them must end in."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from onegrad.describe.exceptions import Failure, InvalidInput


class Thing:
    """An object of a class that nobody knows."""


MASKED = np.ma.array([1.0, 2.0], mask=[True, False])
ODD: dict[str, Any] = {
    "none": None,
    "negative": -3,
    "zero": 0,
    "half": 0.5,
    "nan": float("nan"),
    "infinite": float("inf"),
    "huge": 10**400,
    "true": True,
    "word": "no_such_thing",
    "nothing": "",
    "null": "a\0b",
    "long": "x" * 5000,
    "bytes": b"relu",
    "complex": 1 + 2j,
    "list": [],
    "table": {},
    "numbered": {5: 1},
    "set": {1},
    "thing": Thing(),
    "class": Thing,
    "function": lambda: 1,
    "complex_array": np.array([1 + 1j, 2.0]),
    "complex_matrix": np.array([[1 + 1j, 2.0], [3.0, 4.0]]),
    "masked": MASKED,
    "masked_matrix": np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[True, False], [False, False]]),
    "masked_in_list": [MASKED, MASKED],
    "nan_array": np.array([1.0, np.nan]),
    "nan_matrix": np.array([[1.0, np.nan], [1.0, 2.0]]),
    "infinite_array": np.array([np.inf, 1.0]),
    "objects": np.array([1, None], dtype=object),
    "empty_array": np.zeros(0),
    "empty_matrix": np.zeros((0, 3)),
    "texts": np.array(["a", "b"]),
    "truths": np.array([True, False]),
    "cube": np.ones((2, 2, 2)),
    "ragged": [[1.0, 2.0], [3.0]],
    "nan_column": pd.Series([1.0, np.nan]),
    "nan_table": pd.DataFrame({"a": [1.0, np.nan], "b": [1.0, 2.0]}),
    "texts_table": pd.DataFrame({"a": ["x", "y"]}),
    "nones": [None],
    "date": np.datetime64("2020-01-01"),
}
# What nothing may accept: taking it would lose or invent numbers.
NEVER = frozenset(ODD) - {
    *("none", "negative", "zero", "half", "true", "word", "nothing", "null", "long", "list"),
    *("table", "function", "class", "empty_array", "cube", "texts", "infinite"),
}
LONGEST_MESSAGE = 400


def outcome(call: Callable[[], object]) -> str | None:
    """Return the message with which a call was refused, None where it returned."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call()
        except (InvalidInput, Failure) as error:
            return str(error)
    return None


def is_clear(message: str) -> bool:
    """Return whether a message is one line that names field, rule and remedy."""
    lines = len(message.splitlines()) == 1 and len(message) <= LONGEST_MESSAGE
    return lines and re.fullmatch(r"[^:]+: .+; .+", message) is not None
