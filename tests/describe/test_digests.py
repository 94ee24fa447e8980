"""Digests: equal contents have equal digests, whatever their order, type or layout."""

import numpy as np
import pytest

from onegrad.describe.files import (
    canonical,
    checksum_of_text,
    digest,
    digest_of_array,
    digest_of_bytes,
)
from onegrad.describe.numbers import Array


def test_the_order_of_keys_does_not_matter_and_values_do():
    assert digest({"a": 1, "b": [1.5]}) == digest({"b": [1.5], "a": 1})
    assert digest({"a": 1}) != digest({"a": 2})
    assert canonical({"b": 1, "a": [1, 2]}) == '{"a":[1,2],"b":1}'


def test_numbers_that_json_does_not_know_are_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        digest(float("nan"))


def test_parts_are_hashed_one_after_the_other():
    assert digest_of_bytes(b"ab", b"c") == digest_of_bytes(b"abc")
    known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert digest_of_bytes(b"abc") == known


def test_an_arrays_digest_is_of_shape_and_values_alone():
    table = np.arange(6.0).reshape(2, 3)
    assert digest_of_array(table) == digest_of_array(np.asfortranarray(table))
    assert digest_of_array(table) == digest_of_array(table.astype(">f8"))
    assert digest_of_array(table) != digest_of_array(table.reshape(3, 2))
    assert Array(table) == Array(table.tolist())
    assert hash(Array(table)) == hash(Array(table.tolist()))
    assert Array(table) != Array(table + 1)


def test_a_checksum_is_short_and_sees_every_change():
    assert len(checksum_of_text("0.1")) == 16
    assert checksum_of_text("0.1") != checksum_of_text("0.1 ")
