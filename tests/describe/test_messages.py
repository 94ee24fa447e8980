"""Messages: every broken rule is one line, «field=value: rule; remedy»."""

from typing import Literal

import pytest
from pydantic import BaseModel, ValidationError

from onegrad import InvalidInput
from onegrad.describe.value import BOUNDS, RULES, Count, Flag, Positive, Real, Unit, Value


class Inner(Value):
    size: Count = 1


class Outer(Value):
    count: Count = 1
    free: int = 0
    number: Real = 0.0
    positive: Positive = 1.0
    share: Unit = 0.5
    flag: Flag = False
    text: str = "a"
    several: tuple[int, ...] = ()
    choice: Literal["a", "b"] = "a"
    inner: Inner = Inner()
    table: dict[str, int] = {}  # noqa: RUF012 (pydantic copies it)


BROKEN = {
    "int_type": ({"count": 2.5}, "count=2.5: must be a whole number; correct it"),
    "int_parsing_size": ({"free": "9" * 5000}, "must be a whole number of at most 1e9; lower it"),
    "float_type": ({"number": "x"}, "number='x': must be a number; correct it"),
    "finite_number": ({"number": float("nan")}, "number=nan: must be a finite number; replace it"),
    "bool_type": ({"flag": 1}, "flag=1: must be true or false; choose one"),
    "string_type": ({"text": 3}, "text=3: must be a string; put it in quotes"),
    "tuple_type": ({"several": 3}, "several=3: must be a list; correct it"),
    "literal_error": ({"choice": "c"}, "choice='c': must be 'a' or 'b'; choose one"),
    "model_type": ({"inner": 3}, "inner=3: must be a table of fields; correct it"),
    "dict_type": ({"table": 3}, "table=3: must be a table of fields; correct it"),
    "greater_than": ({"positive": 0.0}, "positive=0.0: must be greater than 0; raise it"),
    "greater_than_equal": ({"share": -1.0}, "share=-1.0: must lie in [0, 1]; raise it"),
    "less_than_equal": ({"count": 10**10}, "count=10000000000: must be at most 1e+09; lower it"),
}


def line(fields):
    with pytest.raises(InvalidInput) as raised:
        Outer(**fields)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_every_rule_of_the_table_has_a_case():
    assert set(RULES) <= set(BROKEN)
    assert set(BOUNDS) - set(BROKEN) == {"less_than"}  # no field is bounded by an open end


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_rule_is_one_line_with_its_remedy(kind):
    fields, said = BROKEN[kind]
    with pytest.raises(ValidationError) as raised:
        BaseModel.__init__(Outer.__new__(Outer), **fields)
    assert raised.value.errors()[0]["type"] == kind
    assert line(fields).endswith(said)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"count": 0}, "count=0: must be a whole number of at least 1; raise it"),
        ({"cuont": 1}, "cuont=1: no such field; did you mean 'count'?"),
        ({"size": 1}, "size=1: no such field; did you mean 'inner.size'?"),
        ({"zzz": 1}, "zzz=1: no such field; remove it"),
        ({"inner": {"size": 0}}, "inner.size=0: must be a whole number of at least 1; raise it"),
        ({"free": 1.5}, "free=1.5: input should be a valid integer"),
        ({"several": [1, "x"]}, "several.1='x': input should be a valid integer"),
    ],
)
def test_the_path_and_the_nearest_field_are_named(fields, said):
    assert line(fields).startswith(said)


def test_a_missing_field_is_asked_for():
    class Needy(Value):
        needed: int

    with pytest.raises(InvalidInput, match=r"^needed: missing; give it a value$"):
        Needy()


def test_values_too_long_to_show_are_cut():
    assert len(line({"number": "x" * 500})) < 120
    assert line({"count": 10**5000}).startswith("count=int too long to show: must be at most")
