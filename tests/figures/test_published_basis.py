"""The report says for every published panel what a deviation rests on."""

from onegrad.figures.panel_registry import PANELS
from onegrad.figures.tables.published_basis import BASES, published_basis
from onegrad.figures.tables.published_values import published

LINES = {*("1a", "1b", "1c", "2a", "2b", "2c", "3a", "3b", "5a", "5c", "6", "7b", "8a", "8b")}


def test_every_panel_with_published_values_says_what_they_rest_on():
    known = set(published()["panel"])
    assert known >= LINES | {"4a", "4b"}  # fourteen line panels and both maps
    assert known | {"5b", "7a"} == set(BASES)
    assert set(BASES) <= {*PANELS}
    assert published_basis("gap", "paper") == ""


def test_panels_of_generated_images_say_so_and_others_do_not():
    generated = {name for name in BASES if "GAN" in published_basis(name, "paper")}
    assert generated == {"3a", "3b", "7a", "7b", "8a", "8b"}
    one = {name for name in BASES if "one data set for all points" in BASES[name]}
    assert {"1a", "5c", "6"} <= one
    assert "one data set" not in published_basis("2b", "paper")


def test_panels_shown_again_have_the_values_of_the_first():
    for again, first in (("5b", "1c"), ("7a", "3a")):
        values = [
            published()[published()["panel"] == name]["value"].tolist() for name in (again, first)
        ]
        assert values[0] == values[1]
        assert values[0]


def test_at_quick_scale_it_says_how_to_see_published_values():
    assert "--scale paper" in published_basis("1a", "quick")
    assert "--scale paper" not in published_basis("1a", "paper")
