"""Every panel is drawn, and keeps what its kind promises: kinds of onegrad and one's own."""

import json
import math
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from tiny_studies import tiny_studies, unarranged_pictures

from onegrad import InvalidInput
from onegrad.papers.curve_panels import curve_table
from onegrad.papers.panel import WIDTH, Panel, Study
from onegrad.papers.panel_kinds import PanelKind, no_numbers
from onegrad.papers.panel_registry import KINDS, PANELS, register_panel, register_panel_kind
from onegrad.papers.panel_table import COLUMNS, constant_words, near_constants
from onegrad.papers.published import Deviation, curve_deviations
from onegrad.papers.reproduction import panel_rows, plan_reproduction, reproduce
from onegrad.papers.saved_panels import table_of_panel, write_panel
from onegrad.plotting.style import save
from onegrad.plotting.view import View

# Ten samples in 784 dimensions make neurons almost parallel.
parallel = pytest.mark.filterwarnings("ignore:exact moments")
MORE_COLUMNS = {"y_name", "y", "facet_name", "facet", "ridge", "closed", "constant", "pane"}


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
    axes={WIDTH.path: (0.5, 1.0)},
    quick_fields={"dimension": 20, "readout.samples": 24},
    trials=(2, 2),
)
FIRST_OF_KIND = {PANELS[name].kind: name for name in reversed([*PANELS])} | {
    BARS_PANEL.kind: BARS_PANEL.name,
    "fits": "digits",  # test_reproduction.py has R1
}
QUICK = {*FIRST_OF_KIND.values(), "3a"}  # and one of images
NAMES = [
    name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
    for name in [*PANELS, BARS_PANEL.name]
]


@pytest.fixture(autouse=True)
def bars(monkeypatch):
    """Register a kind of one's own for the test, and make all studies small."""
    for registry in (KINDS, PANELS):
        monkeypatch.setattr(registry, "entries", dict(registry.entries))
    with tiny_studies():
        register_panel_kind("bars", BARS)
        register_panel(BARS_PANEL, BARS_STUDY)
        yield


def test_every_kind_has_a_panel():
    assert set(KINDS) == set(FIRST_OF_KIND)


@parallel
@pytest.mark.parametrize("name", NAMES)
def test_a_panel_is_drawn_and_keeps_what_its_kind_promises(name, tmp_path):
    task = plan_reproduction([name], out=tmp_path)
    (ready,) = panel_rows(task)
    panel = ready.panel
    kind = KINDS[panel.kind]
    with unarranged_pictures():
        write_panel(task, ready)
    table = pd.read_csv(tmp_path / f"{name}.csv", dtype={"panel": str})
    _is_a_table(panel, table)
    assert (tmp_path / f"{name}.pdf").stat().st_size > 1000
    _is_a_view(kind, panel, table)
    about = json.loads((tmp_path / f"{name}.json").read_text("utf-8"))
    for deviation in about["deviations"]:
        _is_a_deviation(panel, deviation)
    assert ("numbers" in about) == (kind.numbers is not no_numbers)
    assert all(isinstance(sentence, str) and sentence for sentence in about.get("numbers", ()))
    if FIRST_OF_KIND[panel.kind] == name:
        _is_the_same_again(task, ready, tmp_path)
    assert plan_reproduction([name], out=tmp_path).missing == 0


def _is_a_table(panel, table):
    assert list(table.columns)[: len(COLUMNS)] == COLUMNS
    assert set(table.columns[len(COLUMNS) :]) <= MORE_COLUMNS
    assert len(table)
    assert set(table["panel"]) == {panel.name}
    if "pane" in table:  # nothing is trained at the published size
        beside = table["pane"].str.endswith("(published size)")
        assert (table["value"].isna() == beside).all()
        assert table.loc[beside, "closed"].notna().all()
        table = table[~beside]
    assert table["value"].notna().all() or panel.name == "degrees"
    assert not table["value"].abs().gt(1e300).any()
    assert (table["trials"] >= 1).all()
    assert not (table["stderr"] < 0).any()
    assert table["published"].isna().all()  # not at the published size


def _is_a_view(kind, panel, table):
    """The table as the folder holds it gives something to touch, in numbers that JSON holds."""
    view = kind.view(panel, table)
    assert (view == View()) == (panel.kind == "bars")
    json.dumps(view.to_plain(), allow_nan=False)
    for plot in view.plots:
        assert plot.curves
        for curve in plot.curves:
            assert len(curve.x) == len(curve.y) > 0
            assert len(curve.stderr) == len(curve.trials)
            assert len(curve.stderr) in (0, len(curve.x))
    for heat_map in view.maps:
        assert {len(row) for row in heat_map.rows} == {len(heat_map.x)}
        assert len(heat_map.rows) == len(heat_map.y)


def _is_a_deviation(panel, deviation):
    assert list(deviation) == [part.name for part in fields(Deviation)]
    assert deviation["name"]
    assert deviation["where"]
    assert 0 <= deviation["beyond"] <= deviation["known"] <= deviation["points"]
    assert deviation["mean"] <= abs(deviation["largest"])
    assert deviation["tolerance"] == panel.tolerance
    numbers = [value for value in deviation.values() if not isinstance(value, str)]
    assert all(math.isfinite(number) for number in numbers)


def _is_the_same_again(task, ready, folder):
    """The same rows give the same table, the same table the same picture, and none is changed."""
    panel, kind = ready.panel, KINDS[ready.panel.kind]
    table, _ = table_of_panel(task, ready)
    assert table.to_csv(index=False) == (folder / f"{panel.name}.csv").read_text("utf-8")
    before = table.copy()
    with unarranged_pictures():
        figure = kind.draw(panel, table)
        save(figure, folder / "again.png", form="png")
    assert isinstance(figure, Figure)
    assert (folder / "again.png").read_bytes() == (folder / f"{panel.name}.png").read_bytes()
    figure.draw_without_rendering()  # arranged: a picture too full would warn
    ours = kind.table(panel, ready.rows)
    assert all(isinstance(d, Deviation) for d in kind.deviations(panel, ours, ready.rows))
    kind.numbers(panel, ours)
    pd.testing.assert_frame_equal(table, before)


def test_a_kind_and_a_panel_of_one_s_own_are_reported(tmp_path):
    report = reproduce(plan_reproduction(["widths_as_bars"], out=tmp_path))
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


OWN = Panel("own", "own", "A caption.", "What it shows.", WIDTH)


def table_of(values, constants):
    lines = {"x": np.arange(len(values)), "value": values, "constant": constants}
    return pd.DataFrame(lines).assign(activation="relu")


def test_the_best_constant_is_drawn_if_it_is_near_and_in_the_caption_in_any_case():
    near = table_of([1.0, 2.0, 3.0], [2.5, 2.5, 2.5])
    (line,) = near_constants(OWN, near, by="activation")
    assert line.colour == -1
    assert "has 2.5 (long dashes)" in constant_words(OWN, near)
    far = table_of([1.0, 2.0, 3.0], [9.0, 9.0, 9.0])
    assert near_constants(OWN, far, by="activation") == []
    assert "has 9 (beyond the picture)" in constant_words(OWN, far)


def test_series_with_labels_of_their_own_have_constants_of_their_own():
    both = pd.concat(
        [table_of([1.0, 2.0], [1.5, 1.5]), table_of([1.0, 2.0], [2.0, 2.0]).assign(activation="b")]
    )
    assert [line.colour for line in near_constants(OWN, both, by="activation")] == [0, 1]
