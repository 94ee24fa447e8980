"""Figures for files: facets, sizes of columns, styles, equal files for equal figures."""

import importlib.resources

import numpy as np
import pandas as pd
import pytest
from matplotlib import rcParams, style

from onegrad import InvalidInput
from onegrad.plotting.curves_picture import (
    MOST_SERIES,
    CurveWords,
    axis_values,
    draw_curves_of,
    is_log_spaced,
)
from onegrad.plotting.facets import MOST_FACETS, PAPER, WIDTHS, draw_facets, styled
from onegrad.plotting.look import STYLES
from onegrad.plotting.saving import picture_form, save_whole

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
    drawn = draw_facets(table(), WORDS, facet="spread")
    panes = drawn.axes
    assert [axes.get_title() for axes in panes] == ["spread a", "spread b"]
    for axes in panes:
        markers = [c for c in axes.containers if c.lines[0].get_marker() in ("o", "s")]
        assert len(markers) == 2  # one per hue
        assert [c.lines[0].get_color() for c in markers] == [colour for colour, _ in STYLES[:2]]
        assert np.array_equal(markers[1].lines[0].get_ydata(), [1.5, 2.5, 3.5])
        assert len(axes.collections) >= 2  # a band for each line of theory
    assert len(drawn.legends) == 1


def test_a_hue_that_one_facet_lacks_keeps_the_other_colours():
    whole = table()
    drawn = draw_facets(whole[(whole["facet"] == "a") | (whole["hue"] == 0.5)], WORDS)
    (of_b,) = (c for c in drawn.axes[1].containers if c.lines[0].get_marker() == "s")
    assert of_b.lines[0].get_color() == STYLES[1][0]


@pytest.mark.parametrize("width", WIDTHS)
def test_a_figure_is_as_wide_as_its_columns(width):
    for facets in (("",), ("a", "b"), tuple("abcdef")):
        drawn = draw_facets(table(facets), WORDS, width=width)
        assert drawn.get_figwidth() == WIDTHS[width]


@pytest.mark.parametrize(
    ("given", "width", "message"),
    [
        (table(facets=range(MOST_FACETS + 1)), None, "facet: 25 values"),
        (table(hues=range(MOST_SERIES + 1)), None, "hue: 13 values"),
        (table().assign(value=np.nan), None, "no value is a finite number"),
        (table().iloc[:0], None, "nothing to draw"),
        (table(), "three", "width='three': must be one of one, two"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_one_line(given, width, message):
    with pytest.raises(InvalidInput, match=message) as error:
        draw_facets(given, WORDS, width=width)
    assert len(str(error.value).splitlines()) == 1


def test_more_series_than_colours_take_a_scale_and_all_differ():
    drawn = draw_facets(table(("",), hues=range(MOST_SERIES)), WORDS)
    colours = {c.lines[0].get_color() for c in drawn.axes[0].containers}
    assert len(colours) == MOST_SERIES


def test_numbers_stay_numbers_and_anything_else_makes_all_of_them_texts():
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
def test_an_axis_is_logarithmic_where_its_values_are_spaced_so(places, log):
    assert is_log_spaced(pd.Series(places)) == log


def test_constants_that_differ_are_a_line_through_the_points_and_one_entry():
    rising = table(("",)).assign(constant=lambda t: t["value"].mean() + 0.1 * t["x"])
    axes = draw_curves_of(rising, CurveWords("x", "y"), ax=next(iter(_two_axes())))
    (line,) = (line for line in axes.lines if line.get_label() == "best constant prediction")
    expected = rising.groupby("x")["constant"].mean()
    assert line.get_xdata().tolist() == expected.index.tolist()
    assert line.get_ydata().tolist() == pytest.approx(expected.tolist())
    assert _labels(axes).count("best constant prediction") == 1


def test_a_constant_far_above_is_said_and_not_drawn():
    (near, far) = (
        draw_curves_of(table(("",)), CurveWords("x", "y", "", value), ax=axes)
        for value, axes in zip((3.0, 99.0), _two_axes(), strict=True)
    )
    assert "best constant prediction" in _labels(near)
    assert "best constant prediction: 99, beyond" in _labels(far)
    assert far.get_ylim()[1] < 99


def _two_axes():
    from matplotlib.figure import Figure

    return Figure().subplots(1, 2)


def _labels(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_the_style_is_a_file_that_matplotlib_reads_and_that_knows_our_colours():
    assert importlib.resources.files("onegrad.plotting").joinpath("onegrad.mplstyle").is_file()
    with style.context(PAPER):
        cycle = rcParams["axes.prop_cycle"]
        assert [tuple(entry.values()) for entry in cycle] == STYLES
        assert rcParams["figure.figsize"][0] == WIDTHS["one"]
        assert rcParams["pdf.fonttype"] == 42


def test_a_style_ends_with_its_block_and_an_unknown_one_is_refused(tmp_path):
    before = rcParams["font.size"]
    with styled("paper"):
        assert rcParams["font.size"] == 8
    assert rcParams["font.size"] == before
    own = tmp_path / "own.mplstyle"
    own.write_text("font.size: 5\n")
    with styled(str(own)):
        assert rcParams["font.size"] == 5
    for name in ("nope", "no.such.style", "", "a\0b"):
        with pytest.raises(InvalidInput, match="must be paper"), styled(name):
            pass


@pytest.mark.parametrize("form", ["png", "pdf", "svg"])
def test_equal_figures_are_equal_files(form, tmp_path):
    files = [tmp_path / f"{name}.{form}" for name in ("first", "second")]
    for file in files:
        save_whole(draw_facets(table(), WORDS), file)
    assert files[0].read_bytes() == files[1].read_bytes()
    assert files[0].stat().st_size > 1000


def test_a_file_of_another_form_or_a_folder_is_refused(tmp_path):
    folder = tmp_path / "folder.png"
    folder.mkdir()
    for path, message in ((tmp_path / "a.gif", "must end in"), (folder, "is a folder")):
        with pytest.raises(InvalidInput, match=message):
            picture_form(path)
