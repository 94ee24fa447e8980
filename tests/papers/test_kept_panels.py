"""Panels on disk: a damaged file is said, set aside and not drawn; what is shown is escaped."""

import json
import warnings
from itertools import product

import pytest
from matplotlib.figure import Figure

from onegrad.papers.kept_panels import keep_panel, kept_panels
from onegrad.papers.report.report_page import write_report
from onegrad.plotting.saving import save

FORMS = ("json", "csv", "png", "pdf")


def about(name, **changes):
    common = {"scale": "quick", "trials": 2, "command": "onegrad reproduce", "seed": 0}
    common |= {"versions": {"python": "3"}, "settings": "", "redraw": "all", "ours": False}
    deviation = {"name": "a", "where": "b", "total": "c", "stderr": float("nan"), "points": 3}
    deviation |= dict.fromkeys(("largest", "mean", "tolerance"), 0.1) | {"known": 3, "beyond": 0}
    common |= {"caption": f"Caption of {name}", "shows": "points", "deviations": [deviation]}
    return {**common, "panel": name, **changes}


@pytest.fixture(scope="module")
def picture(tmp_path_factory):
    """Return a small picture as PNG."""
    path = tmp_path_factory.mktemp("picture") / "a.png"
    figure = Figure(figsize=(1, 1))
    figure.add_subplot().plot([1, 2])
    save(figure, path, form="png")
    return path.read_bytes()


@pytest.fixture
def folder(tmp_path, picture):
    """Return a folder with the panels 1a and 1b."""
    for name in ("1a", "1b"):
        draw(tmp_path, name, picture)
    return tmp_path


def draw(folder, name, picture, **changes):
    files = {"csv": f"table of {name}".encode(), "png": picture, "pdf": b"pdf " + name.encode()}
    keep_panel(folder, name, files, about(name, **changes))


def shown(folder):
    """Return the panels of the report, and what was said."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        text = write_report(folder).read_text("utf-8")
    messages = [str(w.message) for w in said if "is no table of this panel" not in str(w.message)]
    return [n for n in ("1a", "1b") if f'id="panel-{n}"' in text], messages


def flipped(data, other):
    return data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :]


SPOILT = {
    "truncated": lambda data, other: data[:-3],
    "flipped": flipped,
    "swapped": lambda data, other: other + b" ",
    "emptied": lambda data, other: b"",
    "garbage": lambda data, other: bytes(range(256)),
    "other format": lambda data, other: data.replace(b'"format": 1', b'"format": 7') + b" ",
}


@pytest.mark.parametrize(("form", "kind"), list(product(FORMS, SPOILT)))
def test_a_damaged_file_is_said_set_aside_and_its_panel_not_drawn(folder, picture, form, kind):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    damaged = SPOILT[kind](before[f"1a.{form}"], before[f"1b.{form}"])
    (folder / f"1a.{form}").write_bytes(damaged)
    panels, said = shown(folder)
    assert panels == (["1a", "1b"] if form == "pdf" else ["1b"])
    assert len(said) == 1
    assert said[0].startswith(f"1a.{form}: is damaged (")
    assert said[0].endswith("onegrad reproduce 1a draws it anew")
    assert not (folder / f"1a.{form}").exists()
    assert (folder / f"1a.{form}.damaged").read_bytes() == damaged
    draw_quietly(folder, picture)
    assert {name: (folder / name).read_bytes() for name in before} == before
    assert shown(folder) == (["1a", "1b"], [])


def draw_quietly(folder, picture):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a file that is missing is said
        draw(folder, "1a", picture)


def test_what_is_damaged_where_a_panel_is_drawn_is_set_aside_first(folder, picture):
    (folder / "1a.csv").write_bytes(b"mine")
    with pytest.warns(UserWarning, match=r"1a.csv: is damaged .*; and it is drawn anew"):
        draw(folder, "1a", picture)
    assert (folder / "1a.csv.damaged").read_bytes() == b"mine"
    assert shown(folder) == (["1a", "1b"], [])


def test_files_of_two_panels_do_not_take_each_other_s_place(folder):
    first, second = folder / "1a.json", folder / "1b.json"
    texts = first.read_bytes(), second.read_bytes()
    first.write_bytes(texts[1])
    second.write_bytes(texts[0])
    panels, said = shown(folder)
    assert panels == []
    assert [line.partition(";")[0] for line in said] == [
        f"{name}.json: is damaged (it describes another panel)" for name in ("1a", "1b")
    ]


def test_a_panel_without_its_picture_is_said_each_time(folder):
    (folder / "1b.png").unlink()
    for _ in range(2):
        assert shown(folder) == (
            ["1a"],
            ["1b.png: is missing; onegrad reproduce 1b draws it anew"],
        )


def test_older_panels_are_shown_and_said_where_they_can_be_read(folder):
    for name in ("1a", "1b"):
        (folder / f"{name}.json").write_text(json.dumps(about(name)), "utf-8")
    panels, said = shown(folder)
    assert panels == ["1a", "1b"]
    assert len(said) == 1
    assert said[0].startswith("1a, 1b: drawn by an earlier onegrad, without checksums")
    whole = (folder / "1a.png").read_bytes()
    for spoil in (whole[:-1], whole[:200] + b"\0" + whole[201:], whole + b"\0", b"a picture"):
        (folder / "1a.png").write_bytes(spoil)
        panels, said = shown(folder)
        assert panels == ["1b"]
        assert "1a.png: is damaged (it is not a whole PNG)" in said[0]
        (folder / "1a.png").write_bytes(whole)


@pytest.mark.parametrize(
    "changes",
    [{"deviations": [{}]}, {"trials": "<b>"}, {"seed": None}, {"versions": {"a": 1}}, {"shows": 1}],
)
def test_an_older_description_that_cannot_be_shown_is_damaged(folder, changes):
    (folder / "1a.json").write_text(json.dumps(about("1a", **changes)), "utf-8")
    panels, said = shown(folder)
    assert panels == ["1b"]
    assert "1a.json: is damaged (it does not describe a panel)" in said[0]


def test_texts_are_escaped(folder, picture):
    fields = ("caption", "shows", "scale", "command", "settings")
    draw(folder, "1a", picture, **dict.fromkeys(fields, "<script>alert(1)</script>"))
    with pytest.warns(UserWarning, match="is no table of this panel"):
        text = write_report(folder).read_text("utf-8")
    assert text.count("&lt;script&gt;") >= len(fields)
    assert "<script>alert" not in text


def test_panels_that_are_not_there_are_not_read(tmp_path):
    assert kept_panels(tmp_path, ["1a"]) == []
