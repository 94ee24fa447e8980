"""The report says for every published panel what a deviation rests on."""

import pandas as pd

from onegrad.papers.panel_registry import PANELS
from onegrad.papers.published import BASES, pane_words, published, published_basis

LINES = {*("1a", "1b", "1c", "2a", "2b", "2c", "3a", "3b", "5a", "5c", "6", "7b", "8a", "8b")}


def test_every_panel_with_published_values_says_what_they_rest_on():
    known = set(published()["panel"])
    assert known >= LINES | {"4a", "4b"}  # fourteen line panels and both maps
    assert known | {"5b", "7a"} == set(BASES)
    assert set(BASES) <= {*PANELS}
    assert published_basis("gap") == ""


def test_panels_of_generated_images_say_so_and_others_do_not():
    generated = {name for name in BASES if "GAN" in published_basis(name)}
    assert generated == {"3a", "3b", "7a", "7b", "8a", "8b"}
    one = {name for name in BASES if "one data set for all points" in BASES[name]}
    assert {"1a", "5c", "6"} <= one
    assert "one data set" not in published_basis("2b")


def test_gaps_are_compared_in_percentage_points():
    pane = pd.DataFrame({"closed": [10.0, 30.0, 5.0], "published": [12.0, 36.0, float("nan")]})
    said = pane_words(PANELS["4b"], pane, "n = 400")
    assert "differs from the 2 published values by 4.0 percentage points on average and 6.0" in said
    said = pane_words(PANELS["4a"], pane, "n = 400")
    assert "by 16.7 % on average and 16.7 % at most" in said


def test_panels_shown_again_have_the_values_of_the_first():
    for again, first in (("5b", "1c"), ("7a", "3a")):
        values = [
            published()[published()["panel"] == name]["value"].tolist() for name in (again, first)
        ]
        assert values[0] == values[1]
        assert values[0]


def test_at_quick_scale_it_says_how_to_see_published_values():
    assert "reproduce 2c --scale paper" in published_basis("2c", beside=False)
    assert "--scale paper" not in published_basis("2c")
    assert "--scale paper" not in published_basis("1a", beside=True)
