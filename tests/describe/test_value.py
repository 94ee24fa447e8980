"""Values: frozen, changed by checked copies; documents have a digest and a file."""

from typing import ClassVar

import numpy as np
import pytest
from pydantic import ValidationError

from onegrad import InvalidInput
from onegrad.describe.numbers import Array
from onegrad.describe.value import Count, Document, Positive, Unit, Value


class Part(Value):
    weight: Unit = 1.0
    label: float | None = None


class Size(Value):
    rivals: ClassVar[dict[str, tuple[str, ...]]] = {"width": ("ratio",), "ratio": ("width",)}

    width: Count | None = None
    ratio: Positive | None = None


class Whole(Document):
    count: Count = 1
    size: Size = Size(ratio=1.0)
    parts: tuple[Part, ...] = (Part(weight=0.5), Part(weight=0.5))
    table: Array | None = None


def test_a_value_is_frozen_and_its_copy_is_checked():
    whole = Whole()
    with pytest.raises(ValidationError, match="frozen"):
        whole.count = 2
    assert whole.replace(count=2).count == 2
    assert whole.count == 1
    with pytest.raises(InvalidInput, match="count=0"):
        whole.replace(count=0)


def test_paths_reach_inside_by_name_index_and_star():
    changed = Whole().replace(parts__0__weight=0.25, size__ratio=2.0)
    assert [part.weight for part in changed.parts] == [0.25, 0.5]
    assert changed.size.ratio == 2
    assert {p.label for p in changed.replace({"parts.*.label": 1.0}).parts} == {1.0}
    both = changed.replace({"parts.*.label": 1.0, "parts.1.label": -1.0})
    assert [part.label for part in both.parts] == [1.0, -1.0]
    assert len(changed.replace({"parts.*": Part(weight=0.1)}).parts) == 2


def test_whoever_sets_a_field_drops_its_rivals():
    changed = Whole().replace(size__width=5)
    assert (changed.size.width, changed.size.ratio) == (5, None)
    assert changed.replace(size__ratio=1.0) == Whole()


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("parts.7.weight", r"parts\.7: must be an index below 2 or \*"),
        ("count.deeper", "count: has no fields to replace"),
        ("absent", "absent=1: no such field"),
        ("size.absent", r"size\.absent=1: no such field"),
    ],
)
def test_a_path_to_nowhere_is_refused(path, message):
    with pytest.raises(InvalidInput, match=message):
        Whole().replace({path: 1})


def test_equal_documents_have_equal_digests_and_arrays_count():
    assert Whole().digest == Whole(count=1).digest
    assert Whole().digest != Whole(count=2).digest
    tables = [Whole(table=np.arange(3.0) + shift) for shift in (0, 0, 1)]
    assert tables[0].digest == tables[1].digest != tables[2].digest


def test_to_dict_leaves_out_what_is_unset_and_names_arrays_by_digest():
    plain = Whole(table=np.ones(2)).to_dict()
    assert plain["size"] == {"ratio": 1.0}
    assert plain["table"] == {"shape": [2], "digest": Array(np.ones(2)).digest}
    assert plain["parts"] == [{"weight": 0.5}, {"weight": 0.5}]
