"""Curves hold the numbers of their tables, in colours that tell them apart."""

import numpy as np
import pandas as pd
import pytest

from onegrad import InvalidInput
from onegrad.plotting.curves import (
    MOST_FACETS,
    MOST_SERIES,
    CurveWords,
    axis_values,
    constant_curves,
    curve_plot,
    facet_view,
    is_log_spaced,
)
from onegrad.plotting.style import CONSTANT_LABEL
from onegrad.plotting.view import GREY, Level

WORDS = CurveWords("width", "test MSE", "strength")


def table(facets=("a", "b"), hues=(0.2, 0.5), models=("network",)):
    """Return points of two verbs at three places for everything named."""
    lines = [
        {
            "x": x,
            "value": x + h + theory,
            "stderr": 0.1,
            "theory_error": 0.1 if theory else np.nan,
            "model": m,
            "hue": h,
            "theory": bool(theory),
            "facet": f,
        }
        for f in facets
        for h in hues
        for m in models
        for theory in (0, 1)
        for x in (1.0, 2.0, 3.0)
    ]
    return pd.DataFrame(lines)


def test_every_facet_has_its_points_in_the_colours_of_all():
    whole = table()
    view = facet_view(whole[(whole["facet"] == "a") | (whole["hue"] == 0.5)], WORDS, facet="spread")
    assert [plot.title for plot in view.plots] == ["spread a", "spread b"]
    (points, line) = view.plots[1].curves
    assert points.series == line.series == "strength 0.5"
    assert points.colour == line.colour == 1  # as in the facet that has strength 0.2 too
    assert points.y == (1.5, 2.5, 3.5)
    assert (points.mark, line.mark) == ("points", "line")
    assert points.stderr == (0.1,) * 3
    assert line.band == pytest.approx([0.1 * y for y in line.y])


def test_models_beside_hues_have_markers_and_dashes_of_their_own():
    curves = curve_plot(table(("",), models=("network", "linear")), WORDS).curves
    by_role = {curve.role: (curve.mark, curve.marker) for curve in curves}
    assert by_role == {
        "network": ("points", 0),
        "network, theory": ("line", 0),
        "linear": ("open", 1),
        "linear, theory": ("dashed", 1),
    }
    alone = curve_plot(table(("",), hues=(0,), models=("network", "linear")), WORDS).curves
    assert [curve.colour for curve in alone] == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (table(facets=range(MOST_FACETS + 1)), "facet: 25 values"),
        (table(hues=range(MOST_SERIES + 1)), "hue: 13 values"),
        (table().assign(value=np.nan), "no value is a finite number"),
        (table().iloc[:0], "nothing to draw"),
    ],
)
def test_a_table_that_cannot_be_drawn_is_refused_in_one_line(given, message):
    with pytest.raises(InvalidInput, match=message) as error:
        facet_view(given, WORDS)
    assert len(str(error.value).splitlines()) == 1


def test_numbers_stay_numbers_and_anything_else_makes_all_of_them_strings():
    assert axis_values(pd.Series([1, 2.5])).tolist() == [1.0, 2.5]
    assert axis_values(pd.Series([1, "relu", None], dtype=object)).tolist() == ["1", "relu", "None"]
    assert axis_values(pd.Series([True, False])).tolist() == ["True", "False"]


@pytest.mark.parametrize(
    ("places", "log"),
    [
        ([1e-4, 1e-2, 1.0], True),
        ([10, 100, 1000], True),
        ([0.1, 0.5, 1.0, 1.5], False),
        ([0.0, 1.0, 100.0], False),
        ([1.0, 100.0], False),
    ],
)
def test_an_axis_is_logarithmic_if_its_values_are_spaced_so(places, log):
    assert is_log_spaced(pd.Series(places)) == log


def constants(drawn):
    return [curve for curve in drawn.curves if curve.role.startswith(CONSTANT_LABEL)]


def test_constants_that_differ_along_x_are_one_grey_curve():
    rising = table(("",)).assign(constant=lambda t: t["value"].mean() + 0.1 * t["x"])
    (curve,) = constants(curve_plot(rising, CurveWords("x", "y")))
    expected = rising.groupby("x")["constant"].mean()
    assert curve.colour == GREY
    assert list(curve.x) == expected.index.tolist()
    assert curve.y == pytest.approx(expected.tolist())


def test_constants_that_differ_between_series_have_their_colours():
    apart = table(("",)).assign(constant=lambda t: 1 + t["hue"])
    assert [curve.colour for curve in constant_curves(apart, by="hue")] == [0, 1]


def test_a_constant_is_a_level_if_it_is_near_and_a_number_in_the_legend_if_not():
    near, far = (curve_plot(table(("",)), CurveWords("x", "y", "", v)) for v in (3.0, 99.0))
    assert near.levels == (Level(CONSTANT_LABEL, 3.0),)
    assert constants(near) == []
    (entry,) = constants(far)
    assert entry.role == f"{CONSTANT_LABEL}: 99, beyond"
    assert entry.x == far.levels == ()
