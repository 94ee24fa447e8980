"""Options that list a number for every component: means, levels, labels and weights."""

import pytest

from onegrad import InvalidInput
from onegrad.cli.options import build_problem


def test_lists_give_every_component_its_own_mean_level_and_label():
    lists = {"means": "2,0,-2", "levels": "1,2,0.5", "labels": "1,0,-1"}
    problem = build_problem(None, {**lists, "task": "classification"})
    assert [c.mean for c in problem.data.components] == [2.0, 0.0, -2.0]
    assert [c.level for c in problem.data.components] == [1.0, 2.0, 0.5]
    assert [c.label for c in problem.data.components] == [1.0, 0.0, -1.0]
    assert [c.weight for c in problem.data.components] == pytest.approx([1 / 3] * 3)


def test_lists_of_different_lengths_and_rival_options_are_refused():
    with pytest.raises(InvalidInput, match=r"levels=.*must be 3 numbers, one per component"):
        build_problem(None, {"means": "2,0,-2", "levels": "1,2"})
    with pytest.raises(InvalidInput, match="belongs to all components, --levels to each"):
        build_problem(None, {"level": "1", "levels": "1,2"})
    with pytest.raises(InvalidInput, match="belongs to a mixture"):
        build_problem(None, {"data": "digits", "means": "1,2"})
