"""Sweeps over steps, and sweeps that store what is seen of them: rows, tables, kills, damage."""

import json

import numpy as np
import pytest

from conftest import onegrad_here, small_steps
from onegrad import InvalidInput, Results, Sweep, predict, run_sweep, simulate, take_steps
from onegrad.sweeps.plan import plan_sweep
from onegrad.sweeps.store import decode, encode

FRESH = {"samples": 60, "ridge": 1e-2}


def sweep(**fields):
    """Return a sweep of two trials of three steps, with these fields."""
    return Sweep(**{"problem": small_steps(), "models": ("network",), "trials": 2, **fields})


def test_a_sweep_over_steps_gives_the_rows_of_separate_runs_for_one_run(tmp_path, advances):
    problem = small_steps(readout=FRESH, test="exact")
    of_steps = Sweep(
        problem=problem,
        axes={"training.steps": (3, 1, 2)},
        models=("network", "untrained"),
        verbs=("simulate", "predict"),
        trials=2,
        draws=1,
    )
    frame = run_sweep(of_steps, tmp_path).to_frame()
    assert advances == 3 * [1, 2, 3]  # two trials and a draw
    for steps in (1, 2, 3):
        changed = problem.replace(training__steps=steps)
        for verb, count in (("simulate", {"trials": 2}), ("predict", {"draws": 1})):
            function = {"simulate": simulate, "predict": predict}[verb]
            errors = function(changed, ["network", "untrained"], **count)
            lines = frame[(frame["training.steps"] == steps) & (frame["verb"] == verb)]
            lines = lines[lines["metric"] == "test_mse"]
            assert list(lines["step"]) == 2 * list(changed.recorded_steps)
            assert np.array_equal(lines["mean"].to_numpy(), errors.estimate().mean.ravel())


def test_gaps_are_paired_at_every_step(tmp_path):
    problem = small_steps(readout=FRESH, test="exact")
    common = {"models": ("network", "untrained"), "verbs": ("simulate", "predict")}
    results = run_sweep(Sweep(problem=problem, trials=3, draws=3, **common), tmp_path)
    gaps = results.gaps()
    simulated = gaps[gaps["verb"] == "simulate"]
    errors = simulate(problem, ["network", "untrained"], trials=3)
    assert list(simulated["step"]) == [0, 1, 2, 3]
    assert simulated["gap"].to_numpy() == pytest.approx(errors.gap().mean[1, :, 0])
    theory = results.theory_gaps()
    assert list(theory[theory["model"] == "network"]["step"]) == [0, 1, 2, 3]
    assert (theory["count"] == 3).all()
    pytest.importorskip("xarray")
    assert results.to_xarray()["test_mse"].sizes["step"] == 4


@pytest.mark.parametrize("observe", ["steps", "neurons"])
def test_rows_hold_what_was_seen(tmp_path, observe):
    results = run_sweep(sweep(observe=observe, axes={"training.rule": ("sign", "polar")}), tmp_path)
    seen = results.observed()
    assert [s["coordinates"]["training.rule"] for s, _ in seen] == ["sign"] * 2 + ["polar"] * 2
    for (setting, run), trial in zip(seen, (0, 1, 0, 1), strict=True):
        problem = small_steps(training__rule=setting["coordinates"]["training.rule"])
        alone = take_steps(problem, trial=trial).to_dict(neurons=observe == "neurons")
        assert json.dumps(run) == json.dumps(alone)
    frame = results.to_frame()
    lines = frame[(frame["metric"] == "test_mse") & (frame["training.rule"] == "polar")]
    assert list(lines["step"]) == [0, 1, 2, 3]
    means = np.mean([[s["test_mse"] for s in run["steps"]] for _, run in seen[2:]], axis=0)
    assert lines["mean"].to_numpy() == pytest.approx(means, rel=1e-12)
    assert Results.load(tmp_path).observed() == seen


def test_a_sweep_that_does_not_observe_has_seen_nothing(tmp_path):
    assert run_sweep(sweep(trials=1), tmp_path).observed() == []
    with pytest.raises(InvalidInput, match="nothing is trained by predict"):
        sweep(problem=small_steps(readout=FRESH), observe="steps", verbs=("predict",))
    with pytest.raises(InvalidInput, match="observe='all'"):
        sweep(observe="all")


def test_observed_and_plain_rows_of_one_folder_are_one_trial_each(tmp_path):
    models = ("network", "linear")
    for observe in ("no", "neurons", "steps"):
        results = run_sweep(sweep(observe=observe, models=models), tmp_path)
    frame = results.to_frame()
    assert set(frame["count"]) == {2}
    assert set(results.gaps()["count"]) == {2}
    seen = results.observed()
    assert [run["trial"] for _, run in seen] == [0, 1]
    assert all("overlaps" in run["steps"][1]["weights"] for _, run in seen)
    other = run_sweep(sweep(observe="steps", seed=1), tmp_path)
    assert len(other.observed()) == 4
    assert all(setting["seed"] == run["seed"] for setting, run in other.observed())
    of_one = other.of(sweep(observe="steps", seed=1))
    assert [run["seed"] for _, run in of_one.observed()] == [1, 1]


def lines_of(folder):
    """Return the only file of rows and its lines."""
    (path,) = folder.glob("rows-*.jsonl")
    return path, path.read_text("utf-8").splitlines()


def observed_lines(lines):
    return [index for index, line in enumerate(lines) if "observed" in decode(line)]


def _cut(line):
    return line[: len(line) // 2]


def _altered(line):
    record = json.loads(line)
    record["observed"]["steps"][1]["test_mse"] += 1.0
    return json.dumps(record)


def _without_what_was_seen(line):
    record = json.loads(line)
    del record["observed"]
    return json.dumps(record)


@pytest.mark.parametrize("spoil", [_cut, _altered, _without_what_was_seen])
def test_a_damaged_row_is_told_and_computed_again(tmp_path, spoil, advances):
    whole = run_sweep(sweep(observe="neurons"), tmp_path).observed()
    path, lines = lines_of(tmp_path)
    last = observed_lines(lines)[-1]
    lines[last] = spoil(lines[last])
    path.write_text("\n".join(lines) + "\n", "utf-8")
    with pytest.warns(UserWarning, match="1 unreadable line skipped"):
        assert [run["trial"] for _, run in Results.load(tmp_path).observed()] == [0]
    assert len(plan_sweep(sweep(observe="neurons"), tmp_path).missing) == 1
    advances.clear()
    with pytest.warns(UserWarning, match=r"1 of 3 lines unreadable; set aside as rows-.*\.damaged"):
        again = run_sweep(sweep(observe="neurons"), tmp_path)
    assert advances == [1, 2, 3]
    assert again.observed() == whole


def test_a_foreign_row_belongs_to_no_setting(tmp_path):
    whole = run_sweep(sweep(observe="steps"), tmp_path).observed()
    path, lines = lines_of(tmp_path)
    record = decode(lines[observed_lines(lines)[0]])
    record |= {"problem": "of another", "key": "another"}
    path.write_text("\n".join([*lines, encode(record)]) + "\n", "utf-8")
    results = Results.load(tmp_path)
    assert "another" in results.contents.rows
    assert results.observed() == whole
    assert set(results.to_frame()["count"]) == {2}


def test_a_killed_sweep_takes_only_what_is_missing(tmp_path, monkeypatch, advances):
    of_rules = sweep(observe="steps", axes={"training.rule": ("sign", "polar")})

    def dies(state):
        if state.done == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("onegrad.sweeps.plan.TASK_SECONDS", 0.0)
    with pytest.raises(KeyboardInterrupt, match="3 of 4 trials are stored"):
        run_sweep(of_rules, tmp_path / "a", progress=dies)
    advances.clear()
    continued = run_sweep(of_rules, tmp_path / "a")
    assert advances == [1, 2, 3]
    whole = run_sweep(of_rules, tmp_path / "b")
    assert continued.observed() == whole.observed()
    assert continued.to_frame().equals(whole.to_frame())


def test_what_is_observed_is_part_of_a_row_s_key(tmp_path):
    run_sweep(sweep(observe="steps"), tmp_path)
    assert not plan_sweep(sweep(observe="steps"), tmp_path).missing
    assert len(plan_sweep(sweep(observe="neurons"), tmp_path).missing) == 2
    longer = small_steps(training__steps=4)
    assert len(plan_sweep(sweep(problem=longer, observe="steps"), tmp_path).missing) == 2


def test_a_sweep_file_may_ask_for_what_is_seen(tmp_path):
    sweep(observe="steps", axes={"training.steps": (1, 2)}).save(tmp_path / "s.toml")
    assert Sweep.load(tmp_path / "s.toml").observe == "steps"
    done = onegrad_here("sweep", "s.toml", "--out", "rows", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(Results.load(tmp_path / "rows").observed()) == 4
    shown = onegrad_here("results", "rows", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "step" in shown.stdout
