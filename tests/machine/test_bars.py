"""progress=True shows a bar of rich or tqdm, and ends it whatever happens."""

import sys

import pytest

import onegrad as og
from conftest import small
from onegrad import InvalidInput
from onegrad.machine import progress
from optional_parts import TQDM, needs

TINY = small(dimension=12, readout__samples=15, network__width=6)


@pytest.fixture
def seen(monkeypatch):
    """Return what a bar is told, in place of a bar."""
    told = []

    def bar(unit):
        return lambda *now: told.append((unit, *now)), lambda: told.append((unit, "end"))

    monkeypatch.setattr(progress, "_bar", bar)
    return told


def run_sweep(tmp_path, **how):
    sweep = og.Sweep(problem=TINY, trials=2, models="network")
    return og.run_sweep(sweep, tmp_path / "runs", **how)


VERBS = {
    "trials": lambda _, **how: og.simulate(TINY, ["network"], trials=2, **how),
    "draws": lambda _, **how: og.predict(TINY, ["network"], draws=2, **how),
    "points": lambda _, **how: og.predict_curve(
        TINY, over={"scaling.strength": [0.2, 0.3]}, models="network", draws=1, **how
    ),
    "predictions": lambda _, **how: og.tune(TINY, "width", budget=2, draws=1, **how),
    "steps": lambda _, **how: og.take_steps(TINY, **how),
    "draws of degrees": lambda _, **how: og.equivalence(TINY, [1], draws=2, **how),
    "trials of a sweep": run_sweep,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", VERBS)
def test_true_shows_a_bar_to_its_end_and_false_none(name, seen, tmp_path):
    VERBS[name](tmp_path, progress=False)
    assert not seen
    VERBS[name](tmp_path / "again", progress=True)
    unit = name.partition(" ")[0]
    assert seen[-2:] == [(unit, 2, 2), (unit, "end")]


def test_a_bar_is_ended_when_the_work_fails(seen):
    def failing():
        with progress.shown_progress(True, "trials"):
            raise RuntimeError

    with pytest.raises(RuntimeError):
        failing()
    assert seen == [("trials", "end")]


@pytest.mark.parametrize("package", ["rich", pytest.param("tqdm", marks=needs(TQDM))])
def test_each_package_alone_will_do(package, monkeypatch, capsys):
    other = {"rich": "tqdm.auto", "tqdm": "rich.console"}[package]
    monkeypatch.setitem(sys.modules, other, None)
    with progress.shown_progress(True, "trials") as told:
        told(1, 4)
        told(4, 4)
    assert "trials" in capsys.readouterr().err


def test_without_either_one_is_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with pytest.raises(InvalidInput, match="needs the package rich or tqdm; install one"):
        progress._bar("trials")
