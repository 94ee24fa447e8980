"""Tagged unions: a field may hold any registered kind, which the field `kind` names."""

from typing import Annotated, Literal

import pytest
from pydantic import Field

from onegrad import InvalidInput
from onegrad.describe import registry as module
from onegrad.describe.registry import TaggedUnion
from onegrad.describe.value import Positive, Value, nested_fields


class Shape(Value):
    kind: str


@pytest.fixture
def shapes(monkeypatch):
    monkeypatch.setattr(module, "_REGISTRIES", {})
    kinds = TaggedUnion(
        Shape, "shapes", lambda fields: "circle" if "radius" in fields else "square"
    )

    @kinds.built_in
    class Circle(Shape):
        kind: Literal["circle"] = "circle"
        radius: Positive = Field(default=1.0, description="Radius.")

    @kinds.register
    class Square(Shape):
        kind: Literal["square"] = "square"
        side: Positive = 1.0

    return kinds


@pytest.fixture
def drawing(shapes):
    class Drawing(Value):
        shape: Annotated[Shape, shapes]

    return Drawing


def test_fields_become_the_kind_that_they_say_or_look_like(drawing):
    assert drawing(shape={"kind": "square", "side": 2.0}).shape.side == 2
    assert drawing(shape={"radius": 3.0}).shape.kind == "circle"
    assert drawing(shape={}).shape.kind == "square"


def test_a_description_stays_itself(drawing, shapes):
    circle = shapes["circle"](radius=2.0)
    assert drawing(shape=circle).shape is circle
    assert shapes.kind(circle) == "circle"
    assert shapes.kind({"kind": "square"}) == "square"
    assert shapes.kind(3) == ""


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (3, "shape=3: must be a table of fields"),
        ({"kind": "sqare"}, r"shape\.kind='sqare': must be one of .*did you mean 'square'"),
        ({"kind": "circle", "radius": -1.0}, r"shape\.radius=-1.0: must be greater than 0"),
        ({"kind": "circle", "side": 1.0}, r"shape\.side=1.0: no such field"),
    ],
)
def test_what_fits_no_kind_is_one_line(drawing, shape, message):
    with pytest.raises(InvalidInput, match=message) as raised:
        drawing(shape=shape)
    assert "\n" not in str(raised.value)


def test_users_kinds_have_marks_and_own_ones_have_none(shapes):
    assert shapes.mark("circle") is None
    assert shapes.mark("square") is not None
    assert [kind.__name__ for kind in shapes.kinds()] == ["Circle", "Square"]


def test_fields_and_schema_list_every_kind(drawing):
    paths = [path for path, _ in nested_fields(drawing)]
    assert {"shape", "shape.radius", "shape.side"} <= set(paths)
    listed = drawing.model_json_schema()["properties"]["shape"]["oneOf"]
    assert [kind["properties"]["kind"]["const"] for kind in listed] == ["circle", "square"]
