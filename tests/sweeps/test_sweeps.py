"""Sweeps as values, and the store that loses nothing."""

import json
import math

import numpy as np
import pytest

from conftest import small
from onegrad import InvalidInput, Problem, Results, Sweep, register_function, run_sweep, simulate
from onegrad.core.draw_cache import Shared
from onegrad.core.streams import NUMERICS
from onegrad.core.trial import run_trial
from onegrad.sweeps.plan import Job, make_tasks, plan_sweep
from onegrad.sweeps.store import Contents, Writer, decode, encode, read

AXES = {"network.activation": ["relu", "tanh"], "scaling.strength": [0.3, 0.74]}


def tiny(**fields):
    """Return a sweep of four settings that runs in a second."""
    return Sweep(**{"problem": small(), "axes": AXES, "models": "network", "trials": 3, **fields})


def test_axes_multiply_and_groups_move_together():
    product = tiny().settings()
    assert len(product) == 4
    assert [s.problem.network.activation for s in product] == ["relu", "relu", "tanh", "tanh"]
    zipped = tiny(zip=list(AXES)).settings()
    assert [tuple(s.coordinates.values()) for s in zipped] == [("relu", 0.3), ("tanh", 0.74)]


@pytest.mark.parametrize(
    ("name", "given", "values"),
    [
        ("readout.ridge", [0.1, 0.2], (0.1, 0.2)),
        ("scaling.strength", {"start": 0, "stop": 1, "count": 3}, (0.0, 0.5, 1.0)),
        ("readout.samples", {"start": 10, "stop": 30, "count": 3}, (10, 20, 30)),
        ("network.width", {"start": 10, "stop": 50, "count": 3, "spacing": "log"}, (10, 22, 50)),
        (
            "readout.ridge",
            {"start": 1e-2, "stop": 1, "count": 3, "spacing": "log"},
            (0.01, 0.1, 1.0),
        ),
        ("readout.samples", np.array([1, 2]), (1, 2)),
        ("readout.samples", [np.int64(3)], (3,)),
    ],
)
def test_an_axis_is_a_list_or_a_range(name, given, values):
    axis = Sweep(axes={name: given}).axes[name]
    assert axis == pytest.approx(values)
    assert [type(x) for x in axis] == [type(x) for x in values]


def test_paths_reach_every_component_or_one():
    axes = {"data.components.*.rank": [2], "data.components.0.weight": [0.3]}
    axes["data.components.1.weight"] = [0.7]
    problem = tiny(axes=axes).settings()[0].problem
    assert [c.rank for c in problem.data.components] == [2, 2]
    assert [c.weight for c in problem.data.components] == [0.3, 0.7]


def test_a_ridge_axis_costs_no_trials():
    sweep = tiny(axes={**AXES, "readout.ridge": [1e-4, 1e-2]})
    assert len(sweep.settings()) == 4
    assert sweep.settings()[0].problem.ridges == (1e-4, 1e-2)


def test_a_sweep_survives_its_file(tmp_path):
    sweep = tiny(
        problem=small(data__components__0__mean=np.linspace(-1, 1, 40)),
        axes={"readout.samples": [20, 30], "dimension": [40, 40]},
        zip=["readout.samples", "dimension"],
        verbs="simulate,predict",
    )
    sweep.save(tmp_path / "s.toml")
    loaded = Sweep.load(tmp_path / "s.toml")
    assert loaded == sweep
    assert loaded.digest == sweep.digest
    assert tiny(trials=4).digest != tiny().digest


def test_unquoted_paths_in_toml_are_axes_too(tmp_path):
    text = "trials = 2\n[axes]\nnetwork.width = [10, 20]\nscaling.strength = [0.5]\n"
    (tmp_path / "s.toml").write_text(text)
    assert set(Sweep.load(tmp_path / "s.toml").axes) == {"network.width", "scaling.strength"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"axes": {"network.widht": [1]}}, "did you mean 'width'"),
        ({"axes": {"readout.samples": []}}, "at least one value"),
        ({"axes": {"readout.samples": "many"}}, "must be a list"),
        ({"axes": {"readout.samples": {"start": 0, "stop": 5}}}, "start, stop, count"),
        (
            {"axes": {"readout.ridge": {"start": 0, "stop": 1, "count": 3, "spacing": "log"}}},
            "above 0",
        ),
        ({"axes": {"scaling.strength": [1.2]}}, "must lie in [0, 1]"),
        ({"axes": {"data.components.7.rank": [1]}}, "index below 2"),
        ({"axes": {"dimension.x": [1]}}, "no fields to replace"),
        ({"axes": AXES, "zip": ["readout.samples"]}, "must name an axis"),
        (
            {
                "axes": {"readout.samples": [1], "dimension": [1, 2]},
                "zip": ["readout.samples", "dimension"],
            },
            "long",
        ),
        (
            {"axes": {"readout.samples": range(1, 1002), "dimension": range(1, 1002)}},
            "must be a list",
        ),
        ({"verbs": []}, "simulate, predict or both"),
        ({"verbs": ["train"]}, "'simulate' or 'predict'"),
        ({"method": "single"}, "must be 'types', 'closed' or 'auto'; choose one"),
        ({"method": "full_types"}, "must be 'types', 'closed' or 'auto'; choose one"),
        ({"models": ["netwrk"]}, "did you mean 'network'"),
        ({"axis": {}}, "did you mean 'axes'"),
        ({"seed": -1}, "at least 0"),
        ({"seed": "5"}, "seed='5'"),
        ({"axes": {"readout.samples": [30, 30]}}, "must not repeat"),
        ({"axes": {"readout.ridge": [0.1, 0.1]}}, "must not repeat"),
        ({"axes": {"training.samples": [None, 40]}}, "must not contain None"),
        ({"axes": {"network__width": [3]}}, "with dots"),
        ({"axes": {"network": {}}}, "at least one axis"),
        ({"trials": 10**9}, "split the sweep"),
        ({"axes": {"readout.ridge": {"start": 0.1, "stop": 1, "count": 10**9}}}, "lower count"),
        ({"models": "conditional", "verbs": "predict"}, "no theory of its own"),
    ],
)
def test_a_bad_sweep_is_refused_in_one_line(fields, message):
    with pytest.raises(InvalidInput, match=message.replace("[", r"\[")) as caught:
        Sweep(**fields).settings()
    assert "\n" not in str(caught.value)


def test_too_many_settings_are_refused():
    many = list(range(1, 1002))
    with pytest.raises(InvalidInput, match="at most"):
        Sweep(axes={"readout.samples": many, "dimension": many}).settings()


def test_a_line_keeps_every_bit_and_special_number():
    record = {"kind": "row", "x": [0.1 + 0.2, math.inf, -math.inf, 5e-324], "y": {"z": math.nan}}
    line = encode(record)
    assert "\n" not in line
    assert json.loads(line)["y"]["z"] == {"number": "NaN"}
    found = decode(line)
    assert found["x"] == record["x"]
    assert math.isnan(found["y"]["z"])


def test_a_torn_or_altered_line_is_not_a_record():
    line = encode({"kind": "row", "value": 1.5})
    assert all(decode(line[:stop]) is None for stop in range(len(line)))
    assert decode(line.replace("1.5", "1.6")) is None
    assert decode("[]") is None


def test_a_torn_last_line_is_skipped_and_said(tmp_path):
    full = run_sweep(tiny(), tmp_path).to_frame()
    path = next(tmp_path.glob("rows-*"))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.warns(UserWarning, match="1 unreadable line skipped"):
        assert len(Results.load(tmp_path).contents.rows) == 11
    with pytest.warns(UserWarning, match="1 of 16 lines unreadable; set aside"):
        mended = run_sweep(tiny(), tmp_path).to_frame()
    assert mended.equals(full)
    assert len(list(tmp_path.glob("rows-*.jsonl"))) == 2
    assert len(list(tmp_path.glob("rows-*.jsonl.damaged"))) == 1
    assert Results.load(tmp_path).to_frame().equals(full)  # and nothing is left to say


def test_rows_of_another_format_are_set_aside_and_computed_again(tmp_path):
    full = run_sweep(tiny(), tmp_path).to_frame()
    path = next(tmp_path.glob("rows-*"))
    older = []
    for line in path.read_text("utf-8").splitlines():
        plain = json.loads(line)
        del plain["format"], plain["checksum"]
        older.append(json.dumps(plain) + "\n")
    path.write_text("".join(older), "utf-8")
    with pytest.warns(UserWarning, match="16 unreadable lines skipped .*; run the sweep again"):
        assert not Results.load(tmp_path).contents.rows
    with pytest.warns(UserWarning, match="16 of 16 lines unreadable; set aside as"):
        assert run_sweep(tiny(), tmp_path).to_frame().equals(full)
    aside = path.with_name(f"{path.name}.damaged")
    assert aside.read_text("utf-8") == "".join(older)


def row(key, status="ok", value=1.0, blas="a"):
    return {
        "kind": "row",
        "key": key,
        "status": status,
        "metrics": {"test_mse": [value]},
        "blas": blas,
        **dict.fromkeys(("verb", "problem", "model", "seed", "trial", "numerics"), 0),
    }


def test_a_finished_row_replaces_a_failed_one_and_is_never_replaced():
    contents = Contents()
    for one in (row("a", "failed"), row("a", value=1.0), row("a", value=2.0), row("a", "failed")):
        contents.add(one)
    assert contents.rows["a"]["metrics"] == {"test_mse": [1.0]}
    assert contents.conflicts == ["a"]
    assert contents.failed == []


def test_a_mix_of_kernels_is_said(tmp_path):
    with Writer(tmp_path) as writer:
        writer.append([row("a", blas="openblas Haswell"), row("b", blas="openblas Zen")])
    with pytest.warns(UserWarning, match=r"several BLAS kernels \(openblas Haswell; openblas Zen"):
        Results.load(tmp_path)


def test_rows_are_what_simulate_and_predict_return(tmp_path):
    sweep = tiny(models="network,hermite", verbs="simulate,predict", draws=2)
    found = run_sweep(sweep, tmp_path).to_frame()
    problem = small(network__activation="tanh", scaling__strength=0.3)
    errors = simulate(problem, ["network", "hermite"], trials=3)
    mine = found[
        (found["network.activation"] == "tanh")
        & (found["scaling.strength"] == 0.3)
        & (found["verb"] == "simulate")
        & (found["metric"] == "test_mse")
    ].set_index("model")
    estimate = errors.estimate()
    for i, model in enumerate(("network", "hermite")):
        assert mine.loc[model, "mean"] == pytest.approx(estimate.mean[i, 0], rel=1e-14)
        assert mine.loc[model, "stderr"] == pytest.approx(estimate.stderr[i, 0], rel=1e-12)
        assert mine.loc[model, "count"] == 3
    assert set(found[found["verb"] == "predict"]["count"]) == {2}


def test_another_sweep_extends_the_folder_and_computes_nothing_twice(tmp_path):
    run_sweep(tiny(), tmp_path)
    wider = tiny(axes={**AXES, "scaling.strength": [0.3, 0.5, 0.74]}, trials=4)
    plan = plan_sweep(wider, tmp_path)
    assert (plan.total, plan.stored) == (24, 12)
    both = tiny(models="network,linear", axes={"network.width": [30]})
    other = small(network__activation="relu", scaling__strength=0.3)
    plan = plan_sweep(both.model_copy(update={"problem": other}), tmp_path)
    assert {m.name for job in plan.missing for m in job.models} == {"linear"}
    found = run_sweep(wider, tmp_path)
    assert len(found.contents.rows) == 24
    assert set(found.to_frame()["count"]) == {4}


def test_everything_that_determines_a_row_is_in_its_key(monkeypatch):
    settings = tiny(models="network,hermite").settings()
    network, hermite = settings[0].models
    problem = settings[0].problem
    job = Job("simulate", problem, (network,), 0, 0)
    jobs = [
        job,
        Job("predict", problem, (network,), 0, 0),
        Job("predict", problem, (network,), 0, 0, "conditional"),
        Job("simulate", problem, (network,), 1, 0),
        Job("simulate", problem, (network,), 0, 1),
        Job("simulate", problem.replace(precision="mixed"), (network,), 0, 0),
        Job("simulate", problem.replace(teacher__noise=0.1), (network,), 0, 0),
    ]
    keys = {j.key(network) for j in jobs} | {job.key(hermite)}
    assert len(keys) == 8
    monkeypatch.setattr("onegrad.sweeps.plan.NUMERICS", NUMERICS + 1)
    assert job.key(network) not in keys


def test_a_registered_function_is_known_by_its_values_not_its_name():
    keys = set()
    for scale in (1.0, 2.0):
        register_function("mine", lambda u, s=scale: s * u, lambda u, s=scale: s + 0 * u)
        problem = small(network__activation="mine")
        model = tiny(problem=problem, axes={}).settings()[0].models[0]
        keys.add(Job("simulate", problem, (model,), 0, 0).key(model))
    assert len(keys) == 2


def test_tasks_hold_every_missing_job_once_and_share_within_a_trial(tmp_path):
    sweep = tiny(axes={**AXES, "network.width": [10, 20]}, trials=5)
    plan = plan_sweep(sweep, tmp_path)
    tasks = make_tasks(plan, 2)
    jobs = [job for task in tasks for job in task.jobs]
    assert len(jobs) == len(plan.missing) == 40
    assert {id(j) for j in jobs} == {id(j) for j in plan.missing}
    assert len(tasks) < len(jobs)
    assert [job.trial for job in jobs] == sorted(job.trial for job in jobs)
    assert jobs[0].problem.width == 20


def test_shared_draws_do_not_change_rows(tmp_path):
    axes = {"network.activation": ["relu", "tanh"], "network.width": [10, 20, 30]}
    sweep = tiny(axes=axes, models="network,hermite", trials=1, verbs="simulate,predict")
    run_sweep(sweep, tmp_path / "together")
    plan = plan_sweep(sweep, tmp_path / "apart")
    assert len(make_tasks(plan, 1)) < len(plan.missing)
    for setting in sweep.settings():
        alone = tiny(
            problem=setting.problem, axes={}, models="network,hermite", trials=1, verbs=sweep.verbs
        )
        run_sweep(alone, tmp_path / "apart")
    one, other = (read(tmp_path / name).rows for name in ("together", "apart"))
    assert {k: r["metrics"] for k, r in one.items()} == {k: r["metrics"] for k, r in other.items()}


@pytest.mark.parametrize("axes", [{"dimension": [10**9]}, {"network.width": [10**7]}])
def test_memory_is_checked_before_anything_runs(tmp_path, axes):
    with pytest.raises(InvalidInput, match=r"memory=.* lower"):
        run_sweep(
            Sweep(problem=Problem(dimension=40, readout={"samples": 40}), axes=axes),
            tmp_path / "out",
        )
    assert not list((tmp_path / "out").glob("*"))


def test_problems_of_one_trial_share_normals_across_spreads_without_changing_a_bit():
    """Axes over the scaling draw new data for every value; the normals under it are kept."""
    axes = {"scaling.strength": [0.2, 0.6, 0.9], "scaling.weighting": [0.0, 0.5]}
    settings = tiny(axes=axes, models="network,hermite").settings()
    shared = Shared()
    for setting in settings:
        together = run_trial(setting.problem, setting.models, shared=shared)
        alone = run_trial(setting.problem, setting.models)
        for model in setting.models:
            for metric, values in alone[model.name].items():
                assert np.array_equal(values, together[model.name][metric]), (model.name, metric)


def test_arrays_on_an_axis_are_kept_with_the_sweep(tmp_path):
    means = [np.zeros(40), np.ones(40) / 40]
    sweep = tiny(axes={"data.components.0.mean": means}, trials=1)
    other = tiny(axes={"data.components.0.mean": [np.zeros(40), np.ones(40)]}, trials=1)
    assert sweep.digest != other.digest
    run_sweep(sweep, tmp_path)
    kept = Sweep.load(next(tmp_path.glob("sweep-*.toml")))
    assert kept.digest == sweep.digest


def test_memory_of_theory_counts_for_predictions_alone(tmp_path):
    wide = small(network__width=40_000)
    with pytest.raises(InvalidInput, match="memory="):
        run_sweep(tiny(problem=wide, axes={}, verbs="predict"), tmp_path)
    many = small(readout__samples=10**8, training__samples=50)
    assert plan_sweep(tiny(problem=many, axes={}, verbs="predict"), tmp_path).bytes < 1e9


def test_models_of_one_key_are_stored_once(tmp_path):
    found = run_sweep(tiny(axes={}, models="hermite:1,linear", trials=2), tmp_path)
    text = "".join(p.read_text() for p in tmp_path.glob("rows-*"))
    assert text.count('"kind": "row"') == len(found.contents.rows) == 2
