"""onegrad sweep and onegrad results: run a file into a folder, show and write what it holds."""

import pandas as pd
import pytest

from conftest import onegrad_here, small
from onegrad import Sweep


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a sweep's rows."""
    place = tmp_path_factory.mktemp("results")
    sweep = Sweep(problem=small(), axes={"network.activation": ["relu", "tanh"]}, trials=2)
    sweep.save(place / "sweep.toml")
    done = onegrad_here("sweep", str(place / "sweep.toml"), "--out", str(place / "runs"))
    assert done.returncode == 0, done.stderr
    assert "4 trials are stored" in done.stdout
    return place


def test_the_table_shows_settings_models_and_errors(folder):
    done = onegrad_here("results", str(folder / "runs"))
    assert done.returncode == 0
    for word in ("tanh", "relu", "network", "hermite", "±"):
        assert word in done.stdout


def test_csv_and_parquet_hold_the_same_table(folder, tmp_path):
    runs = str(folder / "runs")
    files = {name: str(tmp_path / f"table.{name}") for name in ("csv", "parquet")}
    for name, file in files.items():
        done = onegrad_here("results", runs, f"--{name}", file)
        assert done.stdout == f"wrote {file}\n"
    csv, parquet = pd.read_csv(files["csv"]), pd.read_parquet(files["parquet"])
    assert len(csv) == len(parquet) == 2 * 2 * 4
    assert csv["mean"].to_numpy() == pytest.approx(parquet["mean"].to_numpy(), rel=1e-15)
    assert onegrad_here("results", runs, "--csv", "-").stdout.startswith("network.activation,")


def test_a_plan_runs_nothing(folder, tmp_path):
    out = tmp_path / "planned"
    done = onegrad_here("sweep", str(folder / "sweep.toml"), "--out", str(out), "--plan")
    assert "4 trials in 2 settings" in done.stderr
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--metric", "tset_mse"], "metric='tset_mse': must be one of test_mse"),
        (["--csv", "."], "is a folder; name a file"),
    ],
)
def test_bad_input_is_one_line(folder, arguments, message):
    done = onegrad_here("results", str(folder / "runs"), *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_an_empty_folder_is_said(tmp_path):
    done = onegrad_here("results", str(tmp_path))
    assert done.returncode == 2
    assert "holds no finished trials" in done.stderr
