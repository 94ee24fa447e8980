"""What a description of real data leaves out and the data say: digest, classes, targets, weights.

Left out, the preparation is that of the question asked: one shift and one scale for all rows,
`centring="midpoint"`, which need no label of a test point, and nothing is added to them. With
`centring="class"` it is the published one: classes of one trace, noise of deviation 1.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import PlainValidator

from onegrad.data.rows.preparation import of_arrays
from onegrad.data.rows.reading import (
    LABEL_COLUMN,
    NAMED,
    WITH_NUMBERS,
    Labelled,
    class_name,
    read_labelled,
)
from onegrad.describe.arrays import Array
from onegrad.describe.bounded_files import said_file
from onegrad.describe.checks import path_of, real_numbers, shown, text, whole_number
from onegrad.describe.exceptions import InvalidInput

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
