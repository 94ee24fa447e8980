"""Panels on disk: a damaged file is said, set aside and not drawn; what is shown is escaped."""

import json
import warnings
from itertools import product

import pytest
from matplotlib.figure import Figure

from onegrad.describe.files import seal
from onegrad.papers.report import write_report
from onegrad.papers.saved_panels import save_panel, saved_panels
from onegrad.plotting.style import save

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
    save_panel(folder, name, files, about(name, **changes))


def shown(folder):
    """Return the panels of the report, and what was said."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        text = write_report(folder).read_text("utf-8")
    messages = [
        str(w.message) for w in said if "is not a table of this panel" not in str(w.message)
    ]
    return [n for n in ("1a", "1b") if f'id="panel-{n}"' in text], messages


def flipped(data, other):
    return data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :]


SPOILT = {
    "truncated": lambda data, other: data[:-3],
    "flipped": flipped,
    "swapped": lambda data, other: other + b" ",
    "emptied": lambda data, other: b"",
    "garbage": lambda data, other: bytes(range(256)),
    "other format": lambda data, other: data.replace(b'"format": 2', b'"format": 7') + b" ",
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
    assert said[0].endswith("onegrad reproduce 1a draws it again")
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
    with pytest.warns(UserWarning, match=r"1a.csv: is damaged .*; and it is drawn again"):
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
            ["1b.png: is missing; onegrad reproduce 1b draws it again"],
        )


@pytest.mark.parametrize("text", [json.dumps(about("1a")), seal(about("1a"), 1)])
def test_a_panel_of_an_earlier_version_is_left_out_and_drawn_again(folder, text):
    (folder / "1a.json").write_text(text, "utf-8")
    panels, said = shown(folder)
    assert panels == ["1b"]
    assert len(said) == 1
    assert said[0].endswith("onegrad reproduce 1a draws it again")


def test_panels_that_are_not_there_are_not_read(tmp_path):
    assert saved_panels(tmp_path, ["1a"]) == []
