"""Real data in files: the same data however kept, moved with their problem, refused in one line."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest

from conftest import onegrad_here
from onegrad import EmpiricalData, InvalidInput, Problem, Sweep
from onegrad.core.instance import draw
from onegrad.data import rows_preparation

FEW = ["--samples", "20", "--test-samples", "20"]

pytestmark = pytest.mark.filterwarnings("ignore:.*(constant in every class|theorem covers)")


def test_npz_csv_parquet_and_arrays_hold_the_same_data(rows, tmp_path):
    x, y = rows
    np.savez(tmp_path / "d.npz", X=x, y=y)
    frame = pd.DataFrame(x, columns=[f"f{i}" for i in range(10)]).assign(kind=y)
    frame.to_csv(tmp_path / "d.csv", index=False)
    frame.to_parquet(tmp_path / "d.parquet")
    digests = {
        EmpiricalData(file=str(tmp_path / f"d.{end}"), label_column="kind").digest
        for end in ("npz", "csv", "parquet")
    }
    assert digests == {EmpiricalData(x, y).digest}
    assert EmpiricalData(x + 1, y).digest not in digests


def test_where_a_file_lies_does_not_matter_to_the_problem(rows, tmp_path):
    found = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        np.savez(tmp_path / name / "d.npz", X=rows[0], y=rows[1])
        text = '[data]\nkind = "empirical"\nfile = "d.npz"\n'
        (tmp_path / name / "p.toml").write_text(
            "test_samples = 20\n[readout]\nsamples = 20\n" + text
        )
        found.append(Problem.load(tmp_path / name / "p.toml"))
    assert found[0].digest == found[1].digest
    found[0].save(tmp_path / "again.toml")
    assert Problem.load(tmp_path / "again.toml").digest == found[0].digest


def test_changed_data_are_noticed(rows, tmp_path):
    path = tmp_path / "d.npz"
    np.savez(path, X=rows[0], y=rows[1])
    held = EmpiricalData(file=str(path))
    np.savez(path, X=rows[0] + 1, y=rows[1])
    with pytest.raises(InvalidInput, match="the data have another"):
        EmpiricalData(**held.model_dump())


def test_a_file_that_changes_under_a_problem_is_noticed(rows, tmp_path):
    path = tmp_path / "d.npz"
    np.savez(path, X=rows[0], y=rows[1])
    packed = pickle.dumps(
        Problem(readout={"samples": 20}, test_samples=20, data=EmpiricalData(file=str(path)))
    )
    np.savez(path, X=2 * rows[0], y=rows[1])
    rows_preparation.split.cache_clear()  # as in a process that starts later
    rows_preparation.prepare.cache_clear()
    with pytest.raises(InvalidInput, match="the data have another"):
        draw(pickle.loads(packed)).step_batch()


def test_what_data_are_does_not_depend_on_how_they_are_kept(rows, tmp_path):
    x, y = np.abs(rows[0]).astype(np.uint8), rows[1]
    np.savez(tmp_path / "d.npz", X=x, y=y)
    kept = [
        EmpiricalData(x, y),
        EmpiricalData(x.astype(float), y),
        EmpiricalData(file=str(tmp_path / "d.npz")),
        EmpiricalData(file=str(tmp_path / "d.npz"), label_column="unused"),
    ]
    assert (
        len({Problem(readout={"samples": 20}, test_samples=20, data=data).digest for data in kept})
        == 1
    )


def test_a_saved_problem_moves_with_its_data(rows, tmp_path):
    old = tmp_path / "old"
    old.mkdir()
    np.savez(old / "d.npz", X=rows[0], y=rows[1])
    problem = Problem(
        readout={"samples": 20}, test_samples=20, data=EmpiricalData(file=str(old / "d.npz"))
    )
    problem.save(old / "p.toml")
    assert 'file = "d.npz"' in (old / "p.toml").read_text()
    old.rename(tmp_path / "new")
    assert Problem.load(tmp_path / "new" / "p.toml").digest == problem.digest


def test_a_sweep_may_compare_data_sets(rows, tmp_path):
    for name, scale in (("a", 1.0), ("b", 2.0)):
        np.savez(tmp_path / f"{name}.npz", X=scale * rows[0] ** 3, y=rows[1])
    files = [str(tmp_path / f"{name}.npz") for name in "ab"]
    base = Problem(readout={"samples": 20}, test_samples=20, data=EmpiricalData(file=files[0]))
    settings = Sweep(problem=base, axes={"data.file": files}).settings()
    assert len({setting.problem.digest for setting in settings}) == 2


def test_simulate_and_predict_run_on_a_file(rows, tmp_path):
    np.savez(tmp_path / "d.npz", X=rows[0], y=rows[1])
    common = ["--data", "d.npz", "--samples", "30", "--test-samples", "40", "--json", "--centring"]
    done = onegrad_here("simulate", *common, "midpoint", "--trials", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["problem"]["data"]["centring"] == "midpoint"
    fit = ["--components-per-class", "2", "--fit-rank", "3", "--draws", "2"]
    done = onegrad_here("predict", *common, "class", *fit, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_data_take_the_place_of_a_files_mixture(rows, tmp_path):
    np.savez(tmp_path / "d.npz", X=rows[0], y=rows[1])
    text = "test_samples = 20\n[readout]\nsamples = 20\n[data]\nalignment = 0.5\n"
    (tmp_path / "mixture.toml").write_text(text)
    options = ["--data", "d.npz", "--labels", "2,-2", "--weights", "0.4,0.6", "--trials", "1"]
    done = onegrad_here("simulate", "mixture.toml", *options, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)["problem"]["data"]
    assert (data["targets"], data["weights"]) == ([2.0, -2.0], [0.4, 0.6])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "none.npz"], "No such file"),
        (["--data", "broken.npz"], "is not a readable .npz"),
        (["--data", "other.npz"], "must hold arrays X and y, it holds a"),
        (["--data", "words.csv"], "column 'b' holds no numbers"),
        (["--data", "words.csv", "--label-column", "c"], "has no such column"),
        (["--data", "data.txt"], "must end in"),
        (["--data", ""], "must be a path or a name"),
        (["--data", "objects.npz"], "holds Python objects; save labels as"),
        (["--data", "gaps.csv"], "the label of row 1 is missing"),
        (["--data", "digits", "--classes", "0", *FEW], "at least two to tell apart"),
        (["--data", "digits", "--classes", "0,1,2", "--labels", "1,2"], "one number per class"),
        (["--data", "digits", "--classes", "0,12"], "is not among the labels"),
        (["--data", "digits", "--classes", "0,1"], "disjoint sets need"),
        (["--classes", "0,1"], "belongs to real data; add --data"),
        (["--data", "digits", "--rank", "2"], "belongs to a mixture"),
    ],
)
def test_bad_input_is_one_line(tmp_path, arguments, message):
    (tmp_path / "broken.npz").write_bytes(b"PK not really")
    (tmp_path / "data.txt").write_text("1 2")
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    pd.DataFrame({"a": [1, 2], "b": ["x", "y"], "label": [0, 1]}).to_csv(tmp_path / "words.csv")
    np.savez(tmp_path / "objects.npz", X=np.eye(2), y=np.array(["a", "b"], dtype=object))
    (tmp_path / "gaps.csv").write_text("a,b,label\n1,2,x\n3,4,\n")
    done = onegrad_here("simulate", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if "note:" not in line]
    assert len(lines) == 1
    assert message in lines[0]
