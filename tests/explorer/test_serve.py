"""What `explore` refuses before it opens anything."""

import pytest

import onegrad
from odd_values import ODD, is_clear, outcome
from onegrad.explorer import server

GOOD = {"problem": {"none"}, "port": {"zero"}, "browser": {"true"}}


@pytest.mark.parametrize("argument", GOOD)
def test_odd_arguments_are_refused_in_one_line(argument, monkeypatch):
    opened = []
    monkeypatch.setattr(server, "server_on", lambda *given: opened.append(given))
    for name, value in ODD.items():
        if name in GOOD[argument]:
            continue
        said = outcome(lambda v=value: onegrad.explore(**{argument: v}))
        assert said is not None, name
        assert is_clear(said), (name, said)
    assert not opened


def test_ports_that_do_not_exist_are_refused():
    with pytest.raises(onegrad.InvalidInput, match=r"port=70000: .*; "):
        onegrad.explore(port=70_000, browser=False)
