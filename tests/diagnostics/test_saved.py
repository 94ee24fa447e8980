"""States of runs: a damaged one is said, set aside and computed anew; older ones are read."""

import json

import numpy as np
import pytest

from conftest import small_steps
from onegrad import take_steps
from onegrad.diagnostics import saved
from onegrad.diagnostics.saved import Saved, run_key


def text(result):
    return json.dumps(result.to_dict(neurons=True))


@pytest.fixture
def state(tmp_path):
    """Return the file of a run of three steps."""
    path = tmp_path / "state.npz"
    take_steps(small_steps(training__momentum=0.5), state=path)
    return path


def flipped(data, place):
    return data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :]


SPOILT = {
    "truncated": lambda data: data[:-1],
    "cut in half": lambda data: data[: len(data) // 2],
    "emptied": lambda data: b"",
    "garbage": lambda data: bytes(range(256)) * 20,
    "flipped at the start": lambda data: flipped(data, 11),
    "flipped in the middle": lambda data: flipped(data, len(data) // 2),
    "flipped in the checksum": lambda data: flipped(data, len(data) - 3),
    "flipped in the comment": lambda data: flipped(data, len(data) - 25),
    "longer": lambda data: data + b"\0",
}


@pytest.mark.parametrize("kind", SPOILT)
def test_a_damaged_state_is_said_set_aside_and_computed_anew(state, kind, advances):
    problem = small_steps(training__momentum=0.5)
    whole = text(take_steps(problem))
    damaged = SPOILT[kind](state.read_bytes())
    state.write_bytes(damaged)
    advances.clear()
    with pytest.warns(UserWarning, match="is damaged .* set aside as state.npz.damaged") as said:
        again = take_steps(problem, state=state)
    assert len(said) == 1
    assert "\n" not in str(said[0].message)
    assert text(again) == whole
    assert advances == [1, 2, 3]
    assert state.with_name("state.npz.damaged").read_bytes() == damaged
    assert text(take_steps(problem, state=state)) == whole  # the new one is read, without a word


def test_no_flipped_bit_goes_unnoticed(state):
    problem = small_steps(training__momentum=0.5)
    data = state.read_bytes()
    for place in np.random.default_rng(3).integers(0, len(data), 60):
        state.write_bytes(flipped(data, int(place)))
        with pytest.warns(UserWarning, match="is damaged"):
            assert Saved.load(state, problem, 0, 0) is None


def test_a_state_of_another_format_is_not_used(state, monkeypatch):
    problem = small_steps(training__momentum=0.5)
    monkeypatch.setattr(saved, "FORMAT", 99)
    with pytest.warns(UserWarning, match="its format is 4, not 99"):
        take_steps(problem, state=state)


def test_an_older_state_without_a_checksum_is_read_and_said(state, advances):
    problem = small_steps(training__momentum=0.5)
    whole = text(take_steps(problem))
    with np.load(state) as stored:
        arrays = {name: stored[name] for name in stored.files if name != "format"}
    assert str(arrays["key"]) == run_key(problem, 0, 0)
    np.savez(state, **arrays)
    advances.clear()
    with pytest.warns(UserWarning, match="has no checksum yet"):
        assert text(take_steps(problem, state=state)) == whole
    assert advances == []
