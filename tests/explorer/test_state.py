"""A state of the page becomes a problem as all other input does."""

import pytest

from onegrad.core.problem import Problem
from onegrad.describe.exceptions import InvalidInput
from onegrad.explorer.controls import axis_of, problem_at
from onegrad.explorer.state import changed, read_state, value_at

BASES = {"start": Problem()}


def problem_of(changes):
    return read_state({"problem": changes}, BASES).problem


def test_flat_and_nested_changes_are_the_same():
    flat = problem_of({"scaling.strength": 0.9, "network.activation": "tanh"})
    nested = problem_of({"scaling": {"strength": 0.9}, "network": {"activation": "tanh"}})
    assert flat == nested == Problem(scaling={"strength": 0.9}, network={"activation": "tanh"})


def test_an_empty_state_is_what_the_explorer_was_opened_with():
    assert read_state({}, BASES).problem == Problem()


def test_the_other_weights_share_the_rest():
    weights = [c.weight for c in problem_of({"data.components.0.weight": 0.3}).data.components]
    assert weights == pytest.approx([0.3, 0.7])
    three = Problem(data={"components": [{"weight": w} for w in (0.5, 0.3, 0.2)]})
    moved = changed(three, {"data.components.0.weight": 0.0})
    assert [c.weight for c in moved.data.components] == pytest.approx([0, 0.6, 0.4])


def test_a_step_size_keeps_the_spread_of_the_data():
    before = Problem()
    after = problem_of({"scaling.learning_rate": 3.0})
    assert after.scaling.spread == pytest.approx(before.scaling.spread_at(1000))
    assert problem_of({"scaling.spread": 5.0}).scaling.learning_rate == pytest.approx(1000**0.37)
    per_width = problem_of({"scaling.per_width": 0.1, "scaling.spread": 2.0}).scaling
    assert (per_width.per_width, per_width.spread, per_width.learning_rate) == (0.1, 2.0, None)


def test_another_teacher_forgets_fields_that_are_not_its_own():
    problem = problem_of({"teacher.kind": "labels", "teacher.link": "tanh", "teacher.flips": 0.1})
    assert problem.teacher.kind == "labels"
    assert problem.teacher.flips == 0.1
    assert problem.binary


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"scaling.strength": 1.9}, "scaling.strength=1.9: must lie in [0, 1]; lower it"),
        ({"scaling.strengt": 0.9}, "no such field"),
        ({"data.file": "/etc/hostname"}, "is not chosen here"),
        ({"data": {"kind": "empirical", "file": "/etc/hostname"}}, "is not chosen here"),
        ({"teacher.kind": "magic"}, "teacher.kind='magic'"),
        ({"data.components": 5}, "must be a list of tables"),
        ({"data": 5}, "data=5"),
        ({"data.components": [{}] * 13}, "at most 12, there are 13"),
        ({"scaling.strength.deeper": 1}, "has no fields"),
        ({"network.activation": "__import__('os')"}, "network.activation"),
        ({f"field{i}": 0 for i in range(101)}, "at most 100 fields"),
    ],
)
def test_what_breaks_a_rule_is_one_line(changes, said):
    with pytest.raises(InvalidInput) as refused:
        problem_of(changes)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "document",
    [[], {"base": "nowhere"}, {"problem": []}, {"axis": 3}, {"models": "network"}, {"models": []}],
)
def test_a_state_that_is_none_is_refused(document):
    with pytest.raises(InvalidInput):
        read_state(document, BASES)


def test_an_axis_covers_its_range_and_knows_where_the_problem_is():
    state = read_state({"axis": "network.width_ratio"}, BASES)
    axis = axis_of(state, 8)
    assert len(axis.values) == 8
    assert (axis.values[0], axis.values[-1], axis.current) == (0.1, 5.0, 1.0)
    assert problem_at(state, 2.0).width == 2000
    counts = axis_of(read_state({"axis": "data.components.0.rank"}, BASES), 8)
    assert all(isinstance(value, int) for value in counts.values)
    with pytest.raises(InvalidInput, match=r"axis='network\.activation'"):
        axis_of(read_state({"axis": "network.activation"}, BASES), 8)


def test_every_axis_gives_problems_that_are_allowed():
    """Each slider's own range is one that the problem accepts somewhere."""
    from onegrad.explorer.controls import controls_of, number_controls

    for c in number_controls(controls_of(Problem()), Problem()):
        state = read_state({"axis": c.path}, BASES)
        values = axis_of(state, 5).values
        problems = [problem_at(state, value) for value in values]
        assert len({p.digest for p in problems}) > 1 or c.path == "test_samples"
        held = value_at(problems[-1], c.path)
        assert held == pytest.approx(values[-1], rel=1e-6)
