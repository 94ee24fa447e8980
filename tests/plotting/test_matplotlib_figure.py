"""Figures show every number of their view, and equal figures are equal files."""

import importlib.resources
from dataclasses import replace

import numpy as np
import pytest
from matplotlib import rcParams, style
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from test_result_curves import WORDS, table

from onegrad import InvalidInput
from onegrad.plotting.curves import MOST_SERIES, curve_plot, facet_view
from onegrad.plotting.maps import heat_maps
from onegrad.plotting.matplotlib_figure import draw, draw_plot
from onegrad.plotting.style import MARKS, PAPER, STYLES, WIDTHS, picture_form, save_whole, styled
from onegrad.plotting.view import GREY, RED, Curve, Level, Plot, View


def labels(legend):
    return [text.get_text() for text in legend.get_texts()]


def test_every_mark_shows_its_points_error_bars_and_labels():
    for mark in MARKS:
        errors = (0.1, 0.2)
        curve = Curve("a", mark, RED, mark, (1, 2), (3.0, 4.0), errors, labels=("p", "q"))
        axes = draw_plot(Plot("", "x", "y", (curve,)), Figure().subplots())
        (container,) = axes.containers
        line, _, bars = container.lines
        assert line.get_ydata().tolist() == [3.0, 4.0]
        assert line.get_color() == "#CC0000"
        assert bool(bars) == (bool(MARKS[mark].marker) and mark != "dash")  # lines have bands
        assert [text.get_text() for text in axes.texts] == ["p", "q"]


def test_a_legend_has_an_entry_per_series_and_one_per_role():
    curves = [
        Curve(name, role, colour, mark, (1.0, 2.0), (1.0, 2.0))
        for colour, name in enumerate(("relu", "tanh"))
        for role, mark in (("network", "points"), ("theory", "line"))
    ]
    plot = Plot("", "x", "y", tuple(curves), levels=(Level("limit", 1.5),))
    figure = draw(View((plot, plot)))
    (legend,) = figure.legends
    assert labels(legend) == ["relu", "tanh", "network", "theory", "limit"]
    colours = [to_hex(handle.get_color()).upper() for handle in legend.legend_handles]
    assert colours == [STYLES[0][0], STYLES[1][0], "#777777", "#777777", "#777777"]
    for axes in figure.axes:
        assert [line.get_ydata()[0] for line in axes.lines if line.get_label() == "limit"] == [1.5]


def test_plots_whose_colours_show_different_series_have_legends_of_their_own():
    one = Plot("", "x", "y", (Curve("a", "network", 0, "points", (1.0,), (1.0,)),))
    other = replace(one, curves=(replace(one.curves[0], series="b"),))
    figure = draw(View((one, other)))
    assert [labels(axes.get_legend()) for axes in figure.axes] == [["a"], ["b"]]
    assert labels(figure.legends[0]) == ["network"]


def test_error_bars_stay_above_zero_on_a_logarithmic_axis():
    curve = Curve("", "gap", 0, "points", (1.0,), (1e-3,), (5e-3,))
    axes = draw_plot(Plot("", "x", "y", (curve,), log_y=True), Figure().subplots())
    (bar,) = axes.containers[0].lines[2]
    assert bar.get_segments()[0][0, 1] == pytest.approx(1e-4)
    assert axes.get_yscale() == "log"


def test_square_plots_share_their_reach_and_leave_guides_out():
    dots = [Curve("a", "neurons", 0, "dots", (x,), (0.1,)) for x in (0.2, -0.5)]
    guide = Curve("", "direction", GREY, "dashed", (-1.0, 1.0), (0.0, 0.0))
    plots = [Plot("", "x", "y", (guide, own), square=True) for own in dots]
    for axes in draw(View(tuple(plots))).axes:
        assert axes.get_xlim() == axes.get_ylim() == pytest.approx((-0.54, 0.54))


def test_maps_share_their_colours_and_few_cells_have_their_values_written():
    x, z = np.arange(3.0), np.arange(6.0).reshape(2, 3)
    grids = {"a": (x, x[:2], z), "b": (x, x[:2], 2 * z)}
    figure = draw(View(maps=heat_maps(grids, ("x", "y", "value"), downwards=True)))
    for axes, (_, _, values) in zip(figure.axes[:2], grids.values(), strict=True):
        (image,) = axes.collections
        assert image.get_clim() == (0.0, 10.0)
        assert image.get_array().ravel().tolist() == values.ravel().tolist()
        assert [float(text.get_text() or 0) for text in axes.texts] == values.ravel().tolist()
        assert axes.yaxis_inverted()
    levels = heat_maps(grids, ("x", "y", "value"), ends=(1, 6), levels=6, guides=((0.5, "half"),))
    axes = draw(View(maps=levels)).axes[0]
    assert [text.get_text() for text in axes.texts] == ["half"]


@pytest.mark.parametrize("width", WIDTHS)
def test_a_figure_is_as_wide_as_its_columns(width):
    for facets in (("",), ("a", "b"), tuple("abcdef")):
        drawn = draw(facet_view(table(facets), WORDS), width=width)
        assert drawn.get_figwidth() == WIDTHS[width]
    with pytest.raises(InvalidInput, match="width='three': must be one of one, two"):
        draw(facet_view(table(), WORDS), width="three")


def test_more_series_than_colours_take_a_scale_and_all_differ():
    axes = draw_plot(curve_plot(table(("",), hues=range(MOST_SERIES)), WORDS), Figure().subplots())
    assert len({c.lines[0].get_color() for c in axes.containers}) == MOST_SERIES


def test_the_style_is_a_file_that_matplotlib_reads_and_that_has_our_colours():
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
        save_whole(draw(facet_view(table(), WORDS)), file)
    assert files[0].read_bytes() == files[1].read_bytes()
    assert files[0].stat().st_size > 1000


def test_a_file_of_another_form_or_a_folder_is_refused(tmp_path):
    folder = tmp_path / "folder.png"
    folder.mkdir()
    for path, message in ((tmp_path / "a.gif", "must end in"), (folder, "is a folder")):
        with pytest.raises(InvalidInput, match=message):
            picture_form(path)


def test_plots_with_the_same_labels_share_their_axes_unless_their_view_does_not():
    plots = tuple(
        Plot("", "x", "y", (Curve("", "a", 0, "line", (0.0, 1.0), (0.0, y)),)) for y in (1.0, 9.0)
    )
    for shared in (True, False):
        one, other = draw(View(plots, shared=shared)).axes
        assert (one.get_ylim() == other.get_ylim()) == shared
        assert other.get_ylabel() == ""
