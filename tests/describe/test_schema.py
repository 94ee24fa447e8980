"""What fields are: found by walking types, with their bounds, in plain words."""

import inspect
from typing import Annotated, Literal

import pytest
from pydantic import Field

from onegrad.describe.value import (
    Count,
    CountOrZero,
    Positive,
    Real,
    Unit,
    Value,
    bounds_of,
    count_fields,
    nested_fields,
    plain_type,
)


class Leaf(Value):
    weight: Unit = 1.0
    rank: CountOrZero | None = None


class Tree(Value):
    size: Count = Field(default=3, description="How many.")
    level: Positive | None = None
    shift: Real = 0.0
    mode: Literal["a", "b"] = "a"
    leaf: Leaf = Leaf()
    leaves: tuple[Leaf, ...] = (Leaf(), Leaf())
    name: str


def test_nested_fields_have_dotted_paths_with_a_star_for_entries():
    paths = [path for path, _ in nested_fields(Tree)]
    assert paths == [
        "size",
        "level",
        "shift",
        "mode",
        "leaf",
        "leaf.weight",
        "leaf.rank",
        "leaves",
        "leaves.*.weight",
        "leaves.*.rank",
        "name",
    ]
    assert dict(nested_fields(Tree))["size"].description == "How many."


def test_whole_numbers_are_those_of_all_nested_fields():
    assert count_fields(Tree) == {"size", "rank"}


@pytest.mark.parametrize(
    ("model", "name", "expected"),
    [
        (Tree, "size", (1, 10**9, False, True)),
        (Tree, "level", (0, None, True, False)),
        (Tree, "shift", (None, None, False, False)),
        (Leaf, "weight", (0, 1, False, False)),
        (Leaf, "rank", (0, 10**9, False, True)),
    ],
)
def test_bounds_are_read_inside_unions_too(model, name, expected):
    assert bounds_of(model.model_fields[name]) == expected


def test_plain_types_are_what_a_person_writes():
    assert plain_type(Count) is int
    assert plain_type(Count | None) == int | None
    assert plain_type(tuple[Annotated[float, "checked"], ...]) == tuple[float, ...]


def test_the_signature_shows_plain_types_and_short_defaults():
    text = str(inspect.signature(Tree))
    assert "size: int = 3" in text
    assert "level: float | None = None" in text
    assert "= Leaf(…)" in text
    assert "= tuple(…)" in text
    assert inspect.signature(Tree).parameters["name"].default is inspect.Parameter.empty
