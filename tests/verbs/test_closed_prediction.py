"""Every verb by theory without draws: what it refuses, how "auto" chooses, curves, results."""

import json
import warnings

import numpy as np
import pytest

from conftest import onegrad_here, small
from onegrad import (
    EmpiricalData,
    InvalidInput,
    Problem,
    Sweep,
    equivalence,
    predict,
    predict_curve,
    run_sweep,
    tune,
)
from onegrad.closed.problem import ClosedProblem
from onegrad.core.instance import draw

ROUNDING = 1e-12  # points that are solved together add in another order


def closed(problem, models=("network",)):
    return predict(problem, models, method="closed")


def moderate(**changes):
    """Return a problem of dimension 300 in which theory without draws has no doubt."""
    base = Problem(dimension=300, network={"width": 200}, readout={"samples": 300, "ridge": 1e-2})
    return base.replace(**changes)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"training__steps": 2}, "training.steps"),
        ({"training__rule": "sign"}, "training.rule"),
        ({"training__subtract": "mean"}, "training.subtract"),
        ({"teacher": {"kind": "labels"}, "readout__outputs": "classes"}, "readout.outputs"),
        ({"teacher": {"links": ["z", "z**2"]}}, "teacher.kind"),
    ],
)
def test_what_it_does_not_know_is_refused_in_one_line_that_names_the_method(changes, field):
    with pytest.raises(InvalidInput) as refused:
        closed(small(**changes))
    said = str(refused.value)
    assert said.startswith(field)
    assert "method='types'" in said
    assert "\n" not in said


def test_a_change_exponent_is_refused():
    problem = small(scaling={"change_exponent": 0.0, "spread": 5.0})
    with pytest.raises(InvalidInput, match=r"change_exponent.*use method='types'"):
        closed(problem)


def test_real_data_are_refused(rows):
    x, y = rows
    problem = Problem(data=EmpiricalData(x, y), readout={"samples": 20}, test_samples=40)
    with pytest.raises(InvalidInput, match=r"data.kind='.*use method='types'"):
        closed(problem)


def test_the_conditional_model_is_refused():
    with pytest.raises(InvalidInput, match=r"models='conditional.*"):
        closed(small(), ["conditional"])


def test_spikes_that_cancel_and_too_many_directions_are_refused():
    opposed = small(data={"alignment": -1.0}, teacher={"direction": "spikes"})
    with pytest.raises(InvalidInput, match="sum of all spikes must not vanish"):
        closed(opposed)
    crowded = Problem(dimension=300, data={"components": [{"weight": 0.5, "rank": 25}] * 2})
    with pytest.raises(InvalidInput, match=r"span 50 directions.*use method='types'"):
        closed(crowded)


@pytest.mark.parametrize("dimension", [1, 2, 3, 7])
def test_few_dimensions_are_refused_in_one_line(dimension, recwarn):
    problem = small(dimension=dimension)
    with pytest.raises(InvalidInput, match=rf"^dimension={dimension}: .*use method='types'$"):
        closed(problem)
    assert not list(recwarn)
    with pytest.warns(UserWarning, match=f"takes types: dimension={dimension}"):
        assert predict(problem, ["network"], method="auto", draws=1).method == "types"
    enough = closed(problem.replace(dimension=8)).metrics
    assert np.isfinite(enough["test_mse"]).all()
    assert enough["theory_error"].item() > 0.1  # eight are few, and it says so


def test_a_curve_says_every_doubt_once_with_its_worst_figure():
    """Each point has its own figure, and would have its own line."""
    problem = small(network__width=50, training__samples=50, readout__samples=50)
    ridges = [1e-7, 1e-6, 1e-5]
    with pytest.warns(UserWarning, match="noise is amplified") as caught:
        predict_curve(problem, ridge=ridges, models="network", method="closed")
    over = {"readout.ridge": ridges}
    with pytest.warns(UserWarning, match="noise is amplified") as along:
        predict_curve(problem, over=over, models="network", method="closed")
    with pytest.warns(UserWarning, match="noise is amplified") as alone:
        closed(problem.replace(readout__ridge=ridges[0]))
    lines = [
        [str(w.message) for w in found if "amplified" in str(w.message)]
        for found in (caught, along, alone)
    ]
    assert [len(own) for own in lines] == [1, 1, 1]
    assert lines[0] == lines[1] == lines[2]  # the smallest penalty is the worst


@pytest.mark.parametrize("teacher", [{"kind": "labels"}, {"direction": "spikes"}, {}])
def test_a_problem_is_told_as_it_is_drawn(teacher):
    """η, spread, trace and degree are those of a draw; its norm differs by overlaps of spikes."""
    problem = moderate(teacher=teacher, data={"alignment": 0.3})
    scales, told = draw(problem, seed=0).scales, ClosedProblem.of(problem)
    setting = told.settings[0][1]
    assert setting.learning_rate == pytest.approx(scales.learning_rate)
    assert 1 / setting.row_variance == pytest.approx(scales.trace)
    assert setting.bulk_deviation == pytest.approx(scales.bulk_deviation)
    assert told.degree == scales.degree
    assert sum(weight for weight, _ in told.settings) == pytest.approx(1)


def test_auto_takes_closed_where_it_has_no_doubt(recwarn):
    problem = moderate()
    answer = predict(problem, ["network"], method="auto")
    assert answer.method == "closed"
    np.testing.assert_array_equal(answer.metrics["test_mse"], closed(problem).metrics["test_mse"])
    assert not [w for w in recwarn if "takes types" in str(w.message)]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"training__steps": 2}, "training.steps=2"),
        ({"network__width": 50, "readout__samples": 50, "readout__ridge": 1e-7}, "amplified"),
    ],
)
def test_auto_takes_types_elsewhere_and_says_why(changes, said):
    problem = small(**changes)
    with pytest.warns(UserWarning, match="method='auto' takes types") as caught:
        answer = predict(problem, ["network"], method="auto", draws=2)
    assert any(said in str(w.message) for w in caught)
    assert answer.method == "types"
    assert answer.trials == 2
    drawn = predict(problem, ["network"], method="types", draws=2)
    np.testing.assert_array_equal(answer.metrics["test_mse"], drawn.metrics["test_mse"])


def test_doubts_are_warnings_and_an_error_estimate():
    doubtful = small(network__width=50, readout__samples=50, readout__ridge=1e-7)
    with pytest.warns(UserWarning, match="noise is amplified"):
        high = closed(doubtful).metrics["theory_error"].item()
    low = closed(moderate()).metrics["theory_error"].item()
    assert 0 < low < high <= 1


def test_a_result_has_one_draw_no_standard_error_and_plain_values():
    answer = closed(moderate(teacher={"kind": "labels"}), ["network", "hermite:2", "untrained"])
    assert answer.trials == 1
    assert answer.method == "closed"
    assert np.all(np.isnan(answer.estimate().stderr))
    wanted = {"test_mse", "train_mse", "objective", "squared_weight_norm", "theory_error"}
    assert wanted | {"misclassification", "train_misclassification"} == set(answer.metrics)
    plain = json.loads(json.dumps(answer.to_dict(), allow_nan=False))
    assert plain["method"] == "closed"
    assert "draws" not in plain
    assert "seed" not in plain
    entry = plain["models"]["network"]["test_mse"]
    assert entry == {"mean": answer.metrics["test_mse"][0, 0, 0], "stderr": None}
    frame = answer.to_frame()
    assert set(frame.model) == {"network", "hermite:2", "untrained"}
    assert np.isfinite(frame["mean"]).all()
    one, half, ridge = (
        answer.metrics[m][0, 0, 0] for m in ("objective", "train_mse", "squared_weight_norm")
    )
    assert one == pytest.approx(0.5 * half + 0.5 * 1e-2 * ridge)


def test_seed_draws_and_workers_do_not_matter():
    problem = moderate()
    once = predict(problem, ["network"], method="closed", draws=1, seed=0)
    other = predict(problem, ["network"], method="closed", draws=7, seed=5)
    np.testing.assert_array_equal(once.metrics["test_mse"], other.metrics["test_mse"])
    assert other.trials == 1


def test_a_curve_over_samples_and_ridge_has_both_axes():
    curve = predict_curve(
        moderate(), samples=[100, 300], ridge=[1e-3, 1e-1, 1.0], models="network", method="closed"
    )
    assert curve.metrics["test_mse"].shape == (1, 1, 2, 3)
    assert list(curve.axes) == ["trial", "model", "samples", "ridge"]
    assert curve.to_dict()["axes"] == {"samples": [100, 300], "ridge": [1e-3, 1e-1, 1.0]}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("scaling.strength", [0.2, 0.8]),
        ("scaling.weighting", [0.0, 0.7]),
        ("network.width", [50, 400]),
        ("training.samples", [100, 900]),
        ("data.alignment", [-0.5, 1.0]),
        ("teacher.noise", [0.0, 0.5]),
        ("network.activation", ["relu", "tanh"]),
        ("dimension", [200, 2000]),
    ],
)
def test_a_curve_over_any_field_is_its_points(path, values):
    problem = moderate()
    curve = predict_curve(problem, over={path: values}, models=["network"], method="closed")
    assert curve.axes[path] == values
    assert curve.metrics["test_mse"].shape == (1, 1, 2, 1)
    for i, value in enumerate(values):
        alone = closed(problem.replace({path: value}))
        np.testing.assert_allclose(
            curve.metrics["test_mse"][:, :, i], alone.metrics["test_mse"], rtol=ROUNDING
        )
    assert curve.metrics["test_mse"][0, 0, 0, 0] != curve.metrics["test_mse"][0, 0, 1, 0]
    json.dumps(curve.to_dict(), allow_nan=False)
    assert path in curve.to_frame().columns


def test_several_fields_move_together():
    problem = moderate()
    over = {"scaling.strength": [0.3, 0.6], "network.width": [100, 300]}
    curve = predict_curve(problem, over=over, models=["network"], method="closed")
    assert list(curve.axes) == ["trial", "model", "scaling.strength", "ridge"]
    last = closed(problem.replace({"scaling.strength": 0.6, "network.width": 300}))
    np.testing.assert_allclose(
        curve.metrics["test_mse"][:, :, 1], last.metrics["test_mse"], rtol=ROUNDING
    )


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"over": {}}, "must name a field"),
        ({"over": {"scaling.strength": []}}, "must be a list of at least one value"),
        ({"over": {"scaling.strength": [0.1], "network.width": [10, 20]}}, "lists of one length"),
        ({"over": {"scaling.depth": [0.1]}}, "depth"),
        ({"over": {"scaling.strength": [0.1, 7.0]}}, "strength=7"),
        ({"over": {"scaling.strength": [0.1]}, "samples": [10]}, "must not be given together"),
        ({"samples": []}, "must be a list of at least one value"),
        ({"samples": [0]}, "samples=0"),
        ({"ridge": [-1.0]}, "ridge=-1"),
    ],
)
def test_bad_lists_are_refused_in_one_line(how, said):
    with pytest.raises(InvalidInput, match=said) as refused:
        predict_curve(small(), models=["network"], method="closed", **how)
    assert "\n" not in str(refused.value)


def test_tuning_finds_the_best_of_a_predicted_grid():
    problem = moderate(teacher={"noise": 0.3})
    tuned = tune(problem, "ridge", method="closed")
    assert tuned.method == "closed"
    for factor in (0.2, 1.0, 5.0):
        other = tuned.problem.replace(readout__ridge=factor * tuned.values["ridge"])
        value = closed(other).metrics["test_mse"].item()
        # Searches may be coarse; what they choose is predicted in full.
        assert value >= tuned.test_mse * (1 - 5e-3)
    assert closed(tuned.problem).metrics["test_mse"].item() == pytest.approx(
        tuned.test_mse, rel=5e-3
    )
    json.dumps(tuned.to_dict(), allow_nan=False)


def test_degrees_are_compared_without_draws():
    found = equivalence(moderate(), degrees=[1, 3], method="closed")
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["method"] == "closed"
    answer = closed(moderate(), ["network", "hermite:1", "hermite:3"])
    gaps = [entry["mean"] for entry in plain["gap"]]
    np.testing.assert_allclose(gaps, answer.gap().mean[1:, 0], rtol=1e-6, atol=1e-9)


def test_a_sweep_without_draws_has_one_row_per_setting(tmp_path):
    sweep = Sweep(
        problem=moderate(),
        axes={"scaling.strength": [0.2, 0.6]},
        models="network",
        verbs="predict",
        method="closed",
        draws=4,
    )
    assert sweep.draws_of_theory == 1
    found = run_sweep(sweep, tmp_path).to_frame()
    rows = found[found["metric"] == "test_mse"]
    assert len(rows) == 2
    for _, row in rows.iterrows():
        alone = closed(moderate(scaling__strength=row["scaling.strength"]))
        assert row["mean"] == pytest.approx(alone.metrics["test_mse"].item(), rel=1e-12)


ARGUMENTS = ["--dimension", "200", "--samples", "150", "--width", "100", "--step-samples", "200"]


def test_the_command_line_predicts_without_draws():
    result = onegrad_here("predict", *ARGUMENTS, "--method", "closed", "--json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["method"] == "closed"
    table = onegrad_here("predict", *ARGUMENTS, "--method", "closed")
    assert table.returncode == 0
    assert "network" in table.stdout
    assert "±" not in table.stdout
    automatic = onegrad_here("predict", *ARGUMENTS, "--method", "auto", "--json")
    assert json.loads(automatic.stdout)["models"].keys() == found["models"].keys()
    curve = onegrad_here(
        "predict",
        "--dimension",
        "200",
        "--samples",
        "50,150",
        *ARGUMENTS[4:],
        "--ridge",
        "0.01,1",
        "--method",
        "closed",
        "--json",
    )
    assert json.loads(curve.stdout)["axes"] == {"samples": [50, 150], "ridge": [0.01, 1.0]}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["predict", *ARGUMENTS, "--steps", "3"], "training.steps=3"),
        (["predict", *ARGUMENTS, "--models", "conditional"], "conditional"),
        (["predict", *ARGUMENTS, "--ridge", "-1"], "ridge"),
        (["predict", *ARGUMENTS, "--strength", "nan"], "strength"),
        (["tune", *ARGUMENTS, "--over", "depth"], "must name some of"),
        (["equivalence", *ARGUMENTS, "--degrees", "99"], "from 0 to 20"),
    ],
)
def test_bad_input_on_the_command_line_is_one_line_and_exit_code_two(arguments, said):
    result = onegrad_here(*arguments, "--method", "closed")
    assert result.returncode == 2
    lines = [line for line in result.stderr.splitlines() if ": note: " not in line]
    assert len(lines) == 1
    assert said in lines[0]
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("dimension", "teacher"),
    [(1, "index"), (2, "sign"), (3, "logistic"), (7, "index")]
    + [
        pytest.param(dimension, teacher, marks=pytest.mark.slow)
        for dimension, teacher in ((1, "sign"), (2, "logistic"), (3, "index"), (7, "sign"))
    ],
)
def test_without_a_bulk_off_the_spikes_it_is_refused_in_one_line(dimension, teacher):
    problem = small(dimension=dimension, readout__samples=5, network__width=5)
    problem = problem.replace(teacher={"kind": teacher})
    with pytest.raises(InvalidInput, match="directions of spikes and means; use"):
        predict(problem, ["network"], method="closed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", RuntimeWarning)  # no NaN is divided by
        predict(problem, ["network"], method="auto", draws=1)
        whole = predict(problem.replace(dimension=8), ["network"], method="closed")
    assert np.isfinite(whole.metrics["test_mse"]).all()
