"""The list of everything that a user can reach is the one that the code gives."""

import json
import sys
from pathlib import Path

import pytest

import onegrad

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def ledger():
    """Let the script be imported."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        import ledger

        yield ledger
        del sys.modules["ledger"]


@pytest.fixture(scope="module")
def now(ledger):
    return ledger.ledger()


def test_the_stored_list_is_that_of_the_code(ledger, now):
    lines = ledger.differences(json.loads(ledger.LEDGER.read_text("utf-8")), now)
    update = "if every difference is intended, update with: python benchmarks/ledger.py"
    assert not lines, "\n".join([*lines, update])


def test_what_is_missing_new_or_changed_is_noticed(ledger, now):
    """Negative control: the comparison sees each kind of difference."""
    option, verb = "command onegrad simulate --trials", "name simulate"
    other = {**now, verb: "problem", "name new": ""}
    del other[option]
    lines = ledger.differences(now, other)
    assert [line.partition(": ")[0] for line in lines] == ["missing", "new", "changed"]
    assert option in lines[0]
    assert verb in lines[2]


def test_what_is_added_to_the_code_is_noticed(ledger):
    """Negative control: the list is generated, not read."""
    onegrad.register_rule("ledger_check", lambda gradient, inputs: gradient)
    assert "rule ledger_check" in dict(ledger.other_names())
