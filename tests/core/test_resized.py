"""A problem in another dimension keeps its shape, or says what does not fit there."""

import numpy as np
import pytest

from conftest import small
from onegrad import EmpiricalData, InvalidInput, Problem
from onegrad.core.problem import resized


def test_counts_follow_the_dimension_and_ratios_and_exponents_stay():
    problem = small(training__samples=70, test_samples=10)
    larger = resized(problem, 100)
    assert larger.dimension == 100
    assert (larger.samples, larger.width, larger.samples_per_step) == (125, 75, 175)
    assert larger.test_samples == 25
    assert resized(larger, 40) == problem
    by_ratio = Problem(
        dimension=40,
        readout={"samples": 60},
        network={"width_ratio": 0.5},
        training={"samples_exponent": 1.5},
    )
    larger = resized(by_ratio, 80)
    assert (larger.samples, larger.width) == (120, 60)
    assert larger.samples_per_step == round(80**1.5)
    assert larger.scaling == by_ratio.scaling


def test_the_same_dimension_is_the_same_problem_whatever_it_holds():
    problem = small(teacher__direction=np.ones(40))
    assert resized(problem, 40) is problem


def test_few_samples_stay_at_least_one():
    assert resized(small(network__width=1), 4).width == 1


ROWS = EmpiricalData(np.random.default_rng(0).standard_normal((400, 5)), np.arange(400) % 2)


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (small(data__components__0__mean=np.ones(40)), r"components.0.mean: has shape \(40,\)"),
        (small(data__components__1__directions=np.eye(40)[:, :1]), "components.1.directions: "),
        (small(teacher__direction=np.ones(40)), "teacher.direction: has shape"),
        (small(teacher={"links": ["z"], "directions": np.eye(40)[:, :1]}), "teacher.directions: "),
        (small(scaling__trace=50.0), "scaling.trace=50: belongs to dimension=40"),
        (small(scaling__norm=2.0), "scaling.norm=2"),
        (Problem(data=ROWS, readout={"samples": 20}), "data.kind='empirical'"),
    ],
)
def test_what_belongs_to_one_dimension_is_refused_in_one_line(problem, said):
    with pytest.raises(InvalidInput, match=said) as refused:
        resized(problem, 80)
    assert str(refused.value).endswith("leave dimensions out")
    assert "\n" not in str(refused.value)
