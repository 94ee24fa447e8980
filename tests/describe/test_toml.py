"""Descriptions as TOML: there and back, large arrays beside the file, damage is noticed."""

import tomllib

import numpy as np
import pytest

from onegrad import InvalidInput
from onegrad.describe.numbers import Array
from onegrad.describe.toml import INLINE_NUMBERS, printed, read_fields, write_fields


def test_fields_come_back_and_unset_ones_are_left_out(tmp_path):
    path = tmp_path / "p.toml"
    write_fields({"a": 1, "unset": None, "inner": {"list": (1.5, 2.5)}}, path)
    assert read_fields(path) == {"a": 1, "inner": {"list": [1.5, 2.5]}}
    assert list(tmp_path.iterdir()) == [path]


def test_small_arrays_stand_in_the_file_and_large_ones_beside_it(tmp_path):
    small, large = Array(np.arange(INLINE_NUMBERS)), Array(np.arange(INLINE_NUMBERS + 1))
    write_fields({"small": small, "large": large}, tmp_path / "p.toml")
    stored = tomllib.loads((tmp_path / "p.toml").read_text())
    assert stored["small"] == small.values.tolist()
    assert stored["large"] == {"npz": "p.npz", "key": "array0", "digest": large.digest}
    assert read_fields(tmp_path / "p.toml")["large"] == large


def test_another_array_in_its_place_is_noticed(tmp_path):
    path = tmp_path / "p.toml"
    write_fields({"large": Array(np.arange(100))}, path)
    np.savez(tmp_path / "p.npz", array0=np.arange(100.0) + 1)
    with pytest.raises(InvalidInput, match="has another digest than the TOML states"):
        read_fields(path)
    (tmp_path / "p.npz").unlink()
    with pytest.raises(InvalidInput, match="has no readable array 'array0'; restore the file"):
        read_fields(path)


@pytest.mark.parametrize("content", [b"a = ", b"\xff\xfe", b"a = 1\na = 2"])
def test_a_file_that_is_no_toml_is_one_line(tmp_path, content):
    path = tmp_path / "p.toml"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match="is not valid TOML") as raised:
        read_fields(path)
    assert "\n" not in str(raised.value)


def test_a_file_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(InvalidInput, match="No such file or directory; check the path"):
        read_fields(tmp_path / "absent.toml")


def test_data_files_move_along_with_the_description(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    (here / "rows.csv").write_text("x")
    write_fields({"data": {"file": str(here / "rows.csv")}}, here / "p.toml")
    assert tomllib.loads((here / "p.toml").read_text())["data"]["file"] == "rows.csv"
    here.rename(there)
    assert read_fields(there / "p.toml")["data"]["file"] == str(there / "rows.csv")


def test_printing_writes_arrays_out_up_to_a_limit():
    assert tomllib.loads(printed({"a": Array(np.arange(100.0))}))["a"][99] == 99
    with pytest.raises(InvalidInput, match="at most 10000 are printed"):
        printed({"a": Array(np.zeros(10_001))})
