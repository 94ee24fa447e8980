"""Sealed records: every altered letter is noticed, and every bit comes back."""

import math

import pytest

from onegrad.describe.files import Damaged, seal, set_aside, unseal

RECORD = {"name": "β, “x”", "values": [0.1 + 0.2, 5e-324, math.inf], "inner": {"a": None}}


@pytest.mark.parametrize("indent", [None, 1])
def test_a_record_comes_back(indent):
    text = seal(RECORD, 3, indent=indent)
    assert unseal(text, 3) == RECORD
    assert math.isnan(unseal(seal({"x": math.nan}, 1), 1)["x"])


@pytest.mark.parametrize("indent", [None, 1])
def test_every_altered_cut_or_added_letter_is_noticed(indent):
    text = seal(RECORD, 3, indent=indent)
    for place in range(len(text)):
        for other in (" ", "\t", "1", "\n"):
            if text[place] != other:
                with pytest.raises(Damaged):
                    unseal(text[:place] + other + text[place + 1 :], 3)
        with pytest.raises(Damaged):
            unseal(text[:place], 3)
    with pytest.raises(Damaged):
        unseal(text + " ", 3)


def test_another_format_is_told():
    with pytest.raises(Damaged, match="its format is 3, not 4"):
        unseal(seal(RECORD, 3), 4)
    with pytest.raises(Damaged, match="it has no checksum"):
        unseal('{"kind": "row"}', 4)


def test_nothing_set_aside_takes_the_place_of_another(tmp_path):
    path = tmp_path / "a.csv"
    for number in range(3):
        path.write_text(str(number))
        set_aside(path)
    path.write_text("3 whole")
    set_aside(path, keep=b"whole")
    assert path.read_text() == "whole"
    names = ["a.csv.damaged", "a.csv.damaged-2", "a.csv.damaged-3", "a.csv.damaged-4"]
    assert [(tmp_path / name).read_text() for name in names] == ["0", "1", "2", "3 whole"]
