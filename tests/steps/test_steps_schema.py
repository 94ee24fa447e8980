"""What the fields of a giant steps' problem say of themselves: descriptions, bounds, defaults."""

import inspect

from onegrad import StepsProblem
from onegrad.describe.schema import nested_fields


def test_every_field_has_a_description():
    fields = dict(nested_fields(StepsProblem))
    assert {"batch", "step_size.exponent", "teacher.links", "teacher.noise"} <= set(fields)
    assert [path for path, field in fields.items() if not field.description] == []


def test_the_schema_tells_ranges_and_defaults():
    schema = StepsProblem.model_json_schema()
    size, teacher = schema["$defs"]["StepSize"], schema["$defs"]["MultiIndex"]
    exponent = size["properties"]["exponent"]["anyOf"][0]
    assert (exponent["minimum"], exponent["maximum"]) == (-2, 2)
    noise = teacher["properties"]["noise"]
    assert (noise["minimum"], noise["maximum"], noise["default"]) == (0, 1e60, 0)
    assert teacher["properties"]["links"]["items"] == {"type": "string"}
    width = schema["properties"]["width"]
    assert (width["minimum"], width["default"]) == (1, 256)


def test_the_signature_is_in_plain_types():
    text = str(inspect.signature(StepsProblem))
    assert "batch: int | None = None" in text
    assert "Annotated" not in text
    assert "Validator" not in text
