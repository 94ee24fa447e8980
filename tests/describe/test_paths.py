"""Dotted paths: what they reach, what they spread over, and that none is replaced twice."""

import pytest

from onegrad import InvalidInput
from onegrad.describe.value import NestedChange, at, by_path, dotted, leaves

NESTED = {"a": {"b": 1}, "list": [{"w": 2}, {"w": 2}, {"w": 3, "x": 4}]}


def test_double_underscores_are_dots():
    assert dotted("data__components__0__weight") == "data.components.0.weight"
    assert dotted("test_samples") == "test_samples"


def test_values_by_path_make_a_tree():
    tree = by_path({"a.b": 1, "a.c": 2, "d": {"plain": 3}})
    assert tree == {"a": {"b": 1, "c": 2}, "d": {"plain": 3}}
    assert isinstance(tree["a"], NestedChange)
    assert not isinstance(tree["d"], NestedChange)  # a value replaces its field


@pytest.mark.parametrize("paths", [("a", "a.b"), ("a.b", "a"), ("a.b", "a.b.c")])
def test_a_field_and_what_is_inside_it_are_not_both_replaced(paths):
    with pytest.raises(InvalidInput, match="is replaced twice; keep one"):
        by_path(dict.fromkeys(paths, 1))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("a.b", 1),
        ("list.1.w", 2),
        ("list.*.w", [2, 2, 3]),
        ("list.*.x", [None, None, 4]),
        ("list.9.w", None),
        ("list.w", None),
        ("a.b.c", None),
        ("absent", None),
    ],
)
def test_a_path_gives_what_stands_there_and_none_where_nothing_does(path, value):
    assert at(NESTED, path) == value


def test_a_star_is_one_value_where_all_entries_agree():
    assert at({"list": NESTED["list"][:2]}, "list.*.w") == 2


def test_every_leaf_is_found_again_by_its_path():
    flat = leaves(NESTED)
    assert flat["list.2.x"] == 4
    assert len(flat) == 5
    assert all(at(NESTED, path) == value for path, value in flat.items())
