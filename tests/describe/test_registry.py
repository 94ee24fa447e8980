"""Registries: names, marks, and how another process learns what was added here."""

import pickle
from functools import partial

import pytest

from onegrad import InvalidInput
from onegrad.describe import registry as module
from onegrad.describe.registry import Registry, adopt, mark_of_source, snapshot


@pytest.fixture
def shapes(monkeypatch):
    """Return a registry that other tests do not see."""
    monkeypatch.setattr(module, "_REGISTRIES", {})
    return Registry("shapes", {"circle": 1, "square": 2}, home=__name__)


def test_names_stand_for_what_was_registered(shapes):
    assert list(shapes) == ["circle", "square"]
    assert shapes["circle"] == shapes.get("circle", field="shape") == 1
    assert shapes.add("kite", 3, mark="k") == 3
    assert "kite" in shapes
    assert "cube" not in shapes


def test_an_unknown_name_is_answered_with_the_nearest(shapes):
    with pytest.raises(InvalidInput, match=r"shape='cirle': .* did you mean 'circle'"):
        shapes.get("cirle", field="shape")
    with pytest.raises(InvalidInput, match="choose one, or register your own"):
        shapes.get("hypercube", field="shape")


def test_a_message_names_as_many_as_fit_in_a_line_and_counts_the_others(shapes):
    for number in range(100):
        shapes.add(f"polygon_{number}", number, mark="p")
    with pytest.raises(InvalidInput, match=r"circle, square, .* and \d+ more; ") as refused:
        shapes.get("hypercube", field="shape")
    message = str(refused.value)
    assert len(message) < 400
    named = message.partition("one of ")[2].partition(" and ")[0].split(", ")
    assert f"and {102 - len(named)} more" in message


@pytest.mark.parametrize(("name", "message"), [("circle", "built in"), ("two words", "a word of")])
def test_names_that_cannot_be_added_are_refused(shapes, name, message):
    with pytest.raises(InvalidInput, match=message):
        shapes.add(name, 3, mark="m")


def test_only_what_users_added_has_a_mark(shapes):
    shapes.add("kite", 3, mark="first")
    shapes.put("line", 4)
    assert set(shapes.added()) == {"kite"}
    assert shapes.mark("kite") == "first"
    assert shapes.mark("circle") is shapes.mark("line") is shapes.mark("absent") is None
    shapes.add("kite", 5, mark="second")  # whoever registers again replaces
    assert (shapes["kite"], shapes.mark("kite")) == (5, "second")


def test_another_process_adopts_what_was_added(shapes):
    assert snapshot() == {}
    shapes.add("kite", 3, mark="m")
    shipped = pickle.loads(pickle.dumps(snapshot()))
    elsewhere = Registry("shapes", {"circle": 1, "square": 2})  # takes the title's place
    elsewhere.add("oval", 4, mark="n")
    assert snapshot() == {}  # without a home nothing is sent
    adopt(shipped)
    assert elsewhere["kite"] == 3
    assert elsewhere.mark("kite") == "m"
    assert elsewhere["circle"] == 1


def test_the_mark_of_a_source_follows_its_text():
    def plain(z):
        return z

    def doubled(z):
        return 2 * z

    assert mark_of_source(plain) == mark_of_source(plain)
    assert mark_of_source(plain) != mark_of_source(doubled)
    assert mark_of_source(dict) != mark_of_source(list)  # no text: by name
    once, twice = (partial(doubled, z=z) for z in (1, 2))
    assert mark_of_source(once) == mark_of_source(partial(doubled, z=1))
    assert len({mark_of_source(f) for f in (once, twice, doubled, partial(plain, z=1))}) == 4
