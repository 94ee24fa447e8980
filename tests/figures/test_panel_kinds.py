"""Every kind of panel, those of onegrad and one's own, keeps what `PanelKind` promises."""

import functools
import io
import math
from dataclasses import asdict, fields, replace

import pandas as pd
import pytest
from matplotlib.figure import Figure
from tiny_studies import tiny_studies, unarranged_pictures

from onegrad import InvalidInput
from onegrad.figures.giant_study import GiantPanel
from onegrad.figures.panel import WIDTH, Panel, Study
from onegrad.figures.panel_kinds import KINDS, PanelKind, register_panel_kind
from onegrad.figures.panel_registry import PANELS, STUDIES, register_panel
from onegrad.figures.reproduction import panel_rows, plan_reproduction, reproduce
from onegrad.figures.tables.curve_table import curve_table
from onegrad.figures.tables.deviations import Deviation, curve_deviations
from onegrad.figures.tables.panel_table import COLUMNS

parallel = pytest.mark.filterwarnings("ignore:exact moments")
# One panel of each kind; a kind without one here fails below.
EXAMPLES = {
    "curves": "1a",
    "two_ways": "R2",
    "map": "4a",
    "linear_map": "4b",
    "degree_map": "degrees",
    "gaps": "gap",
    "fits": "digits",
    "plane": "G2",
    "batch_curves": "G3",
    "spikes": "G4",
    "timelapse": "G5",
    "bars": "widths_as_bars",
}
LETTERS = {"x": "x_name", "y": "y_name", "facet": "facet_name"}


def bar_figure(panel, table):
    figure = Figure(figsize=(2, 2))
    trained = table[table["model"] == "network"]
    figure.add_subplot().bar(trained["x"], trained["value"], width=0.1)
    return figure


def bar_numbers(panel, table):
    return [f"the largest value is {table['value'].max():.3f}"]


BARS = PanelKind(curve_table, bar_figure, curve_deviations, bar_numbers)
BARS_PANEL = Panel("widths_as_bars", "two_widths", "Bars.", "Their heights.", WIDTH, kind="bars")
BARS_STUDY = Study(
    axes={WIDTH.path: (0.5, 1.0)}, quick_fields={"dimension": 20, "samples": 24}, trials=(2, 2)
)


@pytest.fixture(autouse=True)
def bars(monkeypatch):
    """Register a kind of one's own for the test, and make all studies small."""
    for registry in (KINDS, PANELS):
        monkeypatch.setattr(registry, "entries", dict(registry.entries))
    with tiny_studies():
        register_panel_kind("bars", BARS)
        register_panel(BARS_PANEL, BARS_STUDY)
        yield


@pytest.fixture(scope="module")
def rows_of(tmp_path_factory):
    """Return a function of a panel's name to its rows, computed once."""

    @functools.cache
    def rows(name):
        folder = tmp_path_factory.mktemp(name)
        ((_, of_panel),) = panel_rows(plan_reproduction([name], out=folder))
        return of_panel

    return rows


@pytest.fixture(params=EXAMPLES)
def example(request, rows_of):
    """Return each kind with a panel of it and the panel's rows."""
    panel = PANELS[EXAMPLES[request.param]]
    assert panel.kind == request.param
    return KINDS[request.param], panel, rows_of(panel.name)


def test_every_kind_has_an_example_here():
    assert set(KINDS) == set(EXAMPLES)


@parallel
def test_a_kind_keeps_its_promises(example):
    kind, panel, rows = example
    table = kind.table(panel, rows)
    _is_a_table(panel, table)
    pd.testing.assert_frame_equal(kind.table(panel, rows), table)
    before = table.copy()
    figure = kind.figure(panel, table)
    assert isinstance(figure, Figure)
    assert figure.axes
    figure.draw_without_rendering()  # arranged: a picture too full would warn
    with unarranged_pictures():
        assert _picture(kind.figure(panel, table)) == _picture(kind.figure(panel, table))
    for deviation in kind.deviations(panel, table, rows):
        _is_a_deviation(panel, deviation)
    numbers = kind.numbers(panel, table)
    assert all(isinstance(sentence, str) and sentence for sentence in numbers)
    assert bool(numbers) == (isinstance(panel, GiantPanel) or kind is BARS)
    pd.testing.assert_frame_equal(table, before)  # none of them changes the table


def _is_a_table(panel, table):
    assert list(table.columns)[: len(COLUMNS)] == COLUMNS
    assert len(table)
    assert list(table.index) == list(range(len(table)))
    assert set(table["panel"]) == {panel.name}
    assert table["published"].isna().all()
    assert (table["trials"] >= 1).all()
    assert not (table["stderr"] < 0).any()
    for column in table.columns[len(COLUMNS) :]:
        assert column in LETTERS or column in LETTERS.values()


def _is_a_deviation(panel, deviation):
    assert isinstance(deviation, Deviation)
    assert deviation.name
    assert deviation.where
    assert 0 <= deviation.beyond <= deviation.known <= deviation.points
    assert deviation.mean <= abs(deviation.largest)
    assert deviation.tolerance == panel.tolerance
    numbers = [value for value in asdict(deviation).values() if not isinstance(value, str)]
    assert all(math.isfinite(number) for number in numbers)


def _picture(figure):
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=30, metadata={"Software": None})
    return file.getvalue()


def test_a_kind_and_a_panel_of_one_s_own_are_drawn_and_reported(tmp_path):
    report = reproduce(plan_reproduction(["widths_as_bars"], out=tmp_path))
    for form in ("csv", "png", "pdf", "json"):
        assert (tmp_path / f"widths_as_bars.{form}").stat().st_size > 100
    text = report.read_text("utf-8")
    assert 'id="panel-widths_as_bars"' in text
    assert "the largest value is" in text
    assert "theory against simulation, network" in text


def test_a_table_without_the_columns_of_every_table_is_refused(tmp_path):
    short = replace(BARS, table=lambda panel, rows: curve_table(panel, rows).drop(columns="trials"))
    register_panel_kind("bars", short)
    with pytest.raises(InvalidInput, match="lacks the columns trials; add them"):
        reproduce(plan_reproduction(["widths_as_bars"], out=tmp_path))


def test_what_is_no_kind_is_refused():
    with pytest.raises(InvalidInput, match="must be a PanelKind"):
        register_panel_kind("bars", bar_figure)
    for part in fields(PanelKind):
        with pytest.raises(InvalidInput, match=f"{part.name}=3: must be a function"):
            register_panel_kind("bars", replace(BARS, **{part.name: 3}))
    with pytest.raises(InvalidInput, match="is built in"):
        register_panel_kind("curves", BARS)
    with pytest.raises(InvalidInput, match="rename it"):
        register_panel_kind("two words", BARS)
    assert KINDS["bars"] is BARS
    assert "two_widths" in STUDIES
