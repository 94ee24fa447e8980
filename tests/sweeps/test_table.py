"""Results of sweeps: tables that never mix settings, gaps, views, damaged lines."""

import pytest
from test_sweeps import AXES, tiny

from conftest import small
from onegrad import InvalidInput, Problem, Results, run_sweep, simulate
from onegrad.sweeps.store import encode


def test_the_view_by_axes_has_the_table_s_numbers(tmp_path):
    axes = {
        **AXES,
        "readout.ridge": [1e-4, 1e-2],
        "readout.samples": [30, 50],
        "training.samples": [40, 60],
    }
    sweep = tiny(axes=axes, zip=["readout.samples", "training.samples"], trials=2)
    found = run_sweep(sweep, tmp_path)
    data, frame = found.to_xarray(), found.to_frame()
    assert dict(data.sizes) == {
        "activation": 2,
        "strength": 2,
        "readout.samples": 2,  # two axes end in this word
        "verb": 1,
        "model": 1,
        "ridge": 2,
    }
    assert data["training.samples"].values.tolist() == [40, 60]
    paths = {"activation": "network.activation", "strength": "scaling.strength"}
    for line in frame.to_dict("records"):
        where = {dim: line[paths.get(dim, dim)] for dim in data.sizes}
        assert float(data[line["metric"]].sel(where)) == line["mean"]
        assert float(data[f"{line['metric']}_stderr"].sel(where)) == line["stderr"]
        assert int(data["count"].sel(where)) == line["count"]


def test_settings_that_differ_off_the_axes_are_never_averaged(tmp_path):
    for dimension in (20, 40):
        base = Problem(dimension=dimension, readout={"samples": 30})
        run_sweep(tiny(problem=base, axes={"scaling.strength": [0.3]}, trials=2), tmp_path)
    found = Results.load(tmp_path)
    assert "dimension" in found.axes
    frame = found.to_frame()
    mse = frame[frame["metric"] == "test_mse"]
    assert sorted(mse["dimension"]) == [20, 40]
    assert set(mse["count"]) == {2}


def test_folders_with_other_shapes_of_problems_can_be_read(tmp_path):
    run_sweep(tiny(axes={"data.components.1.rank": [1, 2]}, trials=1), tmp_path)
    single = small(data={"components": [{"weight": 1.0}]})
    run_sweep(tiny(problem=single, axes={"teacher.noise": [0.1]}, trials=1), tmp_path)
    frame = Results.load(tmp_path).to_frame()
    assert len(frame[frame["metric"] == "test_mse"]) == 3


def test_a_ridge_that_moves_with_another_axis_is_one_column(tmp_path):
    axes = {"readout.ridge": [1e-2, 1e-1], "readout.samples": [30, 40]}
    found = run_sweep(tiny(axes=axes, zip=list(axes), trials=1), tmp_path)
    frame = found.to_frame()
    pairs = frame[["readout.samples", "ridge"]].drop_duplicates().to_numpy().tolist()
    assert pairs == [[30, 0.01], [40, 0.1]]


def test_gaps_are_those_of_simulate_and_theory_is_paired_by_method(tmp_path):
    base = {"axes": {}, "models": "network,linear", "verbs": "simulate,predict", "draws": 2}
    run_sweep(tiny(**base), tmp_path)
    found = run_sweep(tiny(**base, method="auto"), tmp_path)
    gap = simulate(small(), ["network", "linear"], trials=3).gap()
    mine = found.gaps()
    line = mine[(mine["verb"] == "simulate") & (mine["model"] == "linear")].iloc[0]
    assert line["gap"] == pytest.approx(gap.mean[1, 0])
    assert line["stderr"] == pytest.approx(gap.stderr[1, 0])
    theory = found.theory_gaps()
    assert set(theory["method"]) == {"types", "auto"}
    assert set(theory["count"]) == {2}
    with pytest.raises(InvalidInput, match="metric='nonsense'"):
        found.gaps("nonsense")


@pytest.mark.parametrize(
    "line",
    [
        '{"kind": "row", "value": NaN}',
        '{"kind": "row", "value": 1e999}',
        "[" * 100_000,
        encode({"kind": "row", "key": "a"}),
        encode({"value": 3}),
    ],
)
def test_damaged_lines_are_skipped_wherever_they_are(tmp_path, line):
    run_sweep(tiny(), tmp_path)
    path = next(tmp_path.glob("rows-*"))
    path.write_text(line + "\n" + path.read_text())
    with pytest.warns(UserWarning, match="1 unreadable line skipped"):
        assert len(Results.load(tmp_path).contents.rows) == 12
