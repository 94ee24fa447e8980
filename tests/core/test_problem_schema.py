"""What the fields of a problem say of themselves: descriptions, bounds, kinds, plain types."""

import inspect

from onegrad import Problem, Readout
from onegrad.describe.value import nested_fields


def test_every_field_has_a_description():
    fields = dict(nested_fields(Problem))
    assert {"scaling.strength", "data.components.*.weight", "data.file"} <= set(fields)
    assert [path for path, field in nested_fields(Problem) if not field.description] == []


def test_bounds_are_minimum_and_maximum():
    definitions = Problem.model_json_schema()["$defs"]
    scaling, component = definitions["Scaling"], definitions["Component"]
    strength = scaling["properties"]["strength"]["anyOf"][0]
    assert (strength["minimum"], strength["maximum"]) == (0, 1)
    cap = scaling["properties"]["degree_cap"]
    assert (cap["minimum"], cap["maximum"], cap["default"]) == (1, 20, 4)
    assert component["properties"]["level"]["exclusiveMinimum"] == 0


def test_the_schema_has_every_kind_of_source_and_teacher():
    properties = Problem.model_json_schema()["properties"]
    for field, kinds in (("data", {"mixture", "empirical"}), ("teacher", {"index", "labels"})):
        listed = {kind["properties"]["kind"]["default"] for kind in properties[field]["oneOf"]}
        assert kinds <= listed


def test_the_signature_is_in_plain_types():
    text = str(inspect.signature(Problem)) + str(inspect.signature(Readout))
    assert "ridge: float | tuple[float, ...] | None = None" in text
    assert "Annotated" not in text
    assert "Validator" not in text
