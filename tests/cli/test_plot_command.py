"""onegrad plot: pictures of sweeps from the command line."""

import pytest
from PIL import Image

from conftest import onegrad_here, small
from onegrad import Sweep, run_sweep

FIELDS = ("--x", "network.width", "--hue", "network.activation", "--facet", "scaling.strength")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("plots")
    axes = {
        "network.width": [10, 20, 30],
        "network.activation": ["relu", "tanh"],
        "scaling.strength": [0.2, 0.6],
    }
    run_sweep(Sweep(problem=small(), axes=axes, models="network", trials=2), place / "runs")
    return place


def plot(folder, *options):
    return onegrad_here("plot", "runs", *options, cwd=folder)


@pytest.mark.parametrize(
    ("file", "signature"), [("a.png", b"\x89PNG"), ("a.pdf", b"%PDF"), ("a.svg", b"<?xml")]
)
def test_a_picture_is_written_in_the_form_of_its_name(folder, file, signature):
    done = plot(folder, *FIELDS, "--out", file)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"wrote {file}\n"
    assert (folder / file).read_bytes().startswith(signature)


def test_theory_is_said_which(folder):
    done = plot(folder, *FIELDS, "--theory", "--out", "theory.png")
    assert done.returncode == 0
    assert done.stderr == "onegrad: note: theory: 12 points by 'closed'\n"


@pytest.mark.parametrize(("width", "inches"), [("one", 3.375), ("two", 7.0)])
def test_paper_style_has_the_widths_of_columns(folder, width, inches):
    done = plot(folder, *FIELDS, "--style", "paper", "--width", width, "--out", f"{width}.png")
    assert done.returncode == 0, done.stderr
    with Image.open(folder / f"{width}.png") as picture:
        assert picture.size[0] == int(300 * inches)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--x", "width"), "x='width': must be one of network.width"),
        (("--x", "network.width"), "results differ in network.activation, scaling.strength too"),
        ((*FIELDS, "--metric", "loss"), "metric='loss': must be one of"),
        ((*FIELDS, "--style", "comic"), "style='comic': must be paper"),
        ((*FIELDS, "--width", "three"), "width='three': must be one of one, two"),
        ((*FIELDS, "--out", "a.gif"), "out='a.gif': must end in .pdf, .png or .svg"),
        ((*FIELDS, "--out", "no/such/a.png"), "cannot be written"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(folder, options, message):
    before = sorted(folder.iterdir())
    done = plot(folder, *options)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""
    assert sorted(folder.iterdir()) == before


def test_a_folder_that_is_not_there_is_said(tmp_path):
    done = onegrad_here("plot", "nowhere", cwd=tmp_path)
    assert done.returncode == 2
    assert "no such folder; run onegrad sweep first" in done.stderr
