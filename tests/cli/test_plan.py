"""--plan says what a command would compute and take, and computes nothing."""

import re

import pytest

from conftest import onegrad_here
from onegrad.core.problem import Problem
from onegrad.describe.exceptions import Failure
from onegrad.machine.cost import Rates
from onegrad.verbs import plan
from onegrad.verbs.plan import CostEstimate, plan_prediction, plan_simulation, plan_tuning

SIZES = ("--dimension", "40", "--samples", "40")
COMMANDS = {
    "simulate": "8 trials of network, hermite",
    "predict": "4 draws of network, hermite",
    "predict --method closed": "network, hermite without draws",
    "predict --ridge 0.1,1": "4 draws of network, hermite at 2 points",
    "equivalence --degrees 1,2": "4 draws of network, hermite:1, hermite:2",
    "equivalence --dimensions 20,40": "hermite:6, in each of 2 dimensions",
    "tune": "4 draws of at most 97 widths and learning rates",
    "tune --over ridge": "4 draws of one network",
    "steps --steps 3": "4 trials of 3 steps, observed after each",
}


def run(line, *more):
    return onegrad_here(*line.split(), *more)


@pytest.fixture
def nothing_runs(monkeypatch):
    """Fail where a job runs."""

    def refuse(*_args, **_how):
        raise Failure("work: something was computed; leave it out")

    for module in ("simulate", "predict", "tune"):
        monkeypatch.setattr(f"onegrad.verbs.{module}.run_jobs", refuse)
    monkeypatch.setattr("onegrad.verbs.predict.predict_closed", refuse)


@pytest.mark.parametrize("line", COMMANDS)
def test_a_plan_says_what_it_takes_and_nothing_is_computed(line, nothing_runs):
    said = run(line, *SIZES, "--plan")
    assert said.returncode == 0, said.stderr
    assert said.stdout == ""
    assert COMMANDS[line] in said.stderr
    assert re.search(r"; about \S+ (s|min|h) on 1 worker, peak memory about \S+ GB", said.stderr)


def test_without_the_option_something_is_computed(nothing_runs):
    said = run("predict", *SIZES)
    assert said.returncode == 1
    assert "something was computed" in said.stderr


def test_what_does_not_fit_is_refused(nothing_runs):
    said = run("simulate --dimension 200000 --samples 200000 --plan")
    assert said.returncode == 2
    assert re.search(r"memory=\S+ GB: .*; lower dimension", said.stderr)


def test_bad_arguments_are_refused_by_a_plan_too(nothing_runs):
    for line in (
        "simulate --trials 0",
        "predict --draws 0",
        "tune --over colour",
        "steps --trials 0",
    ):
        said = run(line, *SIZES, "--plan")
        assert said.returncode == 2, line
        assert len(said.stderr.splitlines()) == 1


def test_work_is_shared_by_no_more_workers_than_there_are_parts():
    assert "about 2 s on 8 workers" in CostEstimate("x", 8.0, 1e9, shares=4).sentence(8)
    assert "about 8 s on one Dask worker" in CostEstimate("x", 8.0, 1e9, shares=4).sentence(
        8, place="one Dask worker"
    )


def test_estimates_grow_with_the_work(monkeypatch):
    monkeypatch.setattr(plan, "measure_rates", lambda: Rates(*[1e9] * 6))
    small, large = (Problem(dimension=n, readout={"samples": n}) for n in (50, 400))
    for estimate in (
        lambda p: plan_simulation(p, "network"),
        lambda p: plan_prediction(p, "network", method="types", draws=2),
        lambda p: plan_tuning(p, ["width"], method="types", budget=None, draws=1, check_trials=0),
    ):
        assert estimate(large).seconds > 5 * (estimate(small).seconds - 0.1)
        assert estimate(large).bytes > estimate(small).bytes
    twice = plan_simulation(small, "network", trials=16).seconds
    assert twice == pytest.approx(2 * plan_simulation(small, "network", trials=8).seconds)
