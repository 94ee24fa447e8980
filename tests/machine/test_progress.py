"""A bar moves within a trial, forwards alone, and nothing else changes by it."""

from itertools import pairwise

import numpy as np
import pytest

import onegrad as og
from conftest import small
from onegrad.machine.progress import Bar, listening, report, section

PROBLEM = small(dimension=60, readout__samples=1500, network__width=800)


def test_shares_of_parts_are_those_of_the_whole():
    told = []
    with listening(told.append):
        with section(0.0, 0.5):
            report(0.5)
            with section(0.5, 1.0):
                report(0.5)
        report(2.0)
    assert told == pytest.approx([0.25, 0.375, 0.5, 0.5, 1.0])
    report(0.5)  # nobody listens
    assert len(told) == 5


def seen_by_a_bar(verb, **how):
    seen = []
    result = verb(progress=Bar(lambda done, total: seen.append((done, total))), **how)
    return result, seen


@pytest.mark.parametrize("workers", [1, 2])
def test_a_bar_moves_within_trials_and_bits_stay(workers):
    how = {"trials": 2, "workers": workers}
    errors, seen = seen_by_a_bar(
        lambda **more: og.simulate(PROBLEM, ["network", "hermite:2"], **more), **how
    )
    done = [share for share, _ in seen]
    assert done[-1] == 2
    assert all(0 <= share <= 2 for share in done)
    assert {total for _, total in seen} == {2}
    if workers == 1:
        assert all(before <= after for before, after in pairwise(done))
        assert len({share for share in done if share < 1}) >= 5
    plain = og.simulate(PROBLEM, ["network", "hermite:2"], trials=2)
    assert all(np.array_equal(errors.metrics[n], v) for n, v in plain.metrics.items())


def test_functions_are_called_after_whole_trials_alone():
    seen = []
    og.simulate(PROBLEM, ["network"], trials=2, progress=lambda *now: seen.append(now))
    assert seen == [(1, 2), (2, 2)]


@pytest.mark.filterwarnings("ignore")
def test_a_bar_moves_within_draws_and_steps():
    tiny = small(dimension=12, readout__samples=15, network__width=6)
    names = ["network", "hermite:1", "hermite:2"]
    _, seen = seen_by_a_bar(lambda **how: og.predict(tiny, names, draws=1, **how))
    done = [share for share, _ in seen]
    assert all(before <= after for before, after in pairwise(done))
    assert sum(0 < share < 1 for share in done) >= 3
    assert done[-1] == 1
    _, seen = seen_by_a_bar(lambda **how: og.take_steps(tiny, **how))
    assert any(0 < done < 1 for done, _ in seen)
    assert seen[-1] == (2, 2)
