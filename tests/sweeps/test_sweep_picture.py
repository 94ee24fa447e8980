"""Pictures of sweeps: every point is one setting, theory is said, numbers are the table's."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from conftest import small, small_steps
from onegrad import InvalidInput, Results, Sweep, predict, run_sweep
from onegrad.sweeps.results import PREFERRED, sweep_picture
from onegrad.theory.methods import METHODS

WIDTHS = [10, 20, 40]
AXES = {"network.width": WIDTHS, "network.activation": ["relu", "tanh"]}

pytestmark = pytest.mark.filterwarnings("ignore:theory")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained") / "runs"
    return run_sweep(Sweep(problem=small(), axes=AXES, trials=2), folder)


def axes():
    return Figure().subplots()


def series(drawn):
    """Return x and y of everything that is drawn with error bars."""
    lines = [container.lines[0] for container in drawn.containers]
    return [(list(line.get_xdata()), line.get_ydata().tolist()) for line in lines]


def means(results, **where):
    frame = results.to_frame()
    frame = frame[frame["metric"] == "test_mse"]
    for column, value in where.items():
        frame = frame[frame[column.replace("__", ".")] == value]
    return frame["mean"].tolist()


def test_every_hue_and_model_is_a_series_of_the_table_s_means(trained):
    drawn = trained.plot("network.width", hue="network.activation", ax=axes())
    expected = [
        (WIDTHS, means(trained, network__activation=activation, model=model))
        for activation in AXES["network.activation"]
        for model in ("network", "hermite")
    ]
    assert sorted(series(drawn)) == sorted(expected)
    assert drawn.get_xlabel() == "width"


def test_words_stand_along_an_axis_too(trained):
    drawn = trained.plot("network.activation", hue="network.width", ax=axes())
    assert len(series(drawn)) == len(WIDTHS) * 2
    assert all(x == ["relu", "tanh"] for x, _ in series(drawn))


def test_theory_without_draws_stands_beside_and_is_said(trained):
    with pytest.warns(UserWarning, match="theory: 12 points by 'closed'"):
        picture = sweep_picture(trained, x="network.width", hue="network.activation", theory=True)
    table = picture.table
    theory = table[table["theory"] & (table["model"] == "network") & (table["hue"] == "relu")]
    expected = [
        predict(small(network__width=k), "network", method="closed").estimate().mean.item()
        for k in WIDTHS
    ]
    assert theory["value"].tolist() == pytest.approx(expected, rel=1e-9)  # solved together
    assert (theory["theory_error"] > 0).all()
    assert not trained.to_frame()["verb"].eq("predict").any()  # nothing was stored


def test_stored_predictions_stand_in_where_closed_theory_does_not_know(tmp_path):
    sweep = Sweep(
        problem=small(training__steps=2),
        axes={"network.width": [10, 20]},
        models="network",
        verbs=("simulate", "predict"),
        trials=2,
        draws=1,
    )
    results = run_sweep(sweep, tmp_path / "runs")
    with pytest.warns(UserWarning, match="theory: 6 points by 'types'"):
        picture = sweep_picture(results, x="step", hue="network.width", theory=True)
    assert picture.table["theory"].sum() == 2 * 3
    assert not sweep_picture(results, x="step", hue="network.width").table["theory"].any()


def test_models_that_closed_theory_does_not_know_are_counted(tmp_path):
    sweep = Sweep(problem=small(), axes={"network.width": [10, 20]}, trials=2)
    results = run_sweep(sweep.replace(models=("network", "conditional")), tmp_path / "runs")
    with pytest.warns(UserWarning, match="2 points by 'closed', 2 points without theory"):
        picture = sweep_picture(results, theory=True)
    assert set(picture.table[picture.table["theory"]]["model"]) == {"network"}


def test_where_there_is_no_theory_at_all_it_is_refused(tmp_path):
    problem = small_steps(training__steps=1)
    sweep = Sweep(problem=problem, axes={"network.width": [10, 20]}, models="network", trials=1)
    results = run_sweep(sweep, tmp_path / "runs")
    with pytest.raises(InvalidInput, match="neither closed theory knows these problems"):
        results.plot(theory=True, ax=axes())


def test_predictions_alone_are_drawn_as_lines(tmp_path):
    sweep = Sweep(problem=small(), axes={"network.width": WIDTHS}, verbs=("predict",), draws=2)
    results = run_sweep(sweep, tmp_path / "runs")
    drawn = results.plot(ax=axes())
    assert [y for _, y in series(drawn)] == [
        means(results, model=model) for model in ("network", "hermite")
    ]


def test_penalties_are_an_axis_by_their_path(tmp_path):
    ridges = [1e-3, 1e-2, 1e-1]
    sweep = Sweep(problem=small(), axes={"readout.ridge": ridges}, models="network", trials=2)
    results = run_sweep(sweep, tmp_path / "runs")
    drawn = results.plot("readout.ridge", ax=axes())
    assert series(drawn) == [(ridges, means(results))]
    assert drawn.get_xscale() == "log"


def test_a_folder_of_one_setting_has_a_point_per_model(tmp_path):
    results = run_sweep(Sweep(problem=small(), trials=2), tmp_path / "runs")
    drawn = results.plot(ax=axes())
    assert [x for x, _ in series(drawn)] == [["network"], ["hermite"]]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"x": "network.width"}, "results differ in network.activation too"),
        ({}, "x: must be one of network.width, network.activation; choose one"),
        ({"x": "width"}, "x='width': must be one of network.width"),
        ({"x": "network.width", "hue": "network.width"}, "must differ; change one"),
        ({"metric": "loss"}, "metric='loss': must be one of test_mse"),
        ({"theory": 1}, "theory=1: must be True or False"),
    ],
)
def test_pictures_that_would_mix_settings_are_refused_in_one_line(trained, given, message):
    with pytest.raises(InvalidInput, match=message) as error:
        trained.plot(**given, ax=axes())
    assert len(str(error.value).splitlines()) == 1


def test_every_method_has_a_rank():
    assert set(PREFERRED) == set(METHODS)


def test_an_empty_folder_has_nothing_to_draw(tmp_path):
    with pytest.raises(InvalidInput, match="holds no finished trials; run onegrad sweep"):
        Results.load(tmp_path).plot()


def test_a_lost_sweep_file_is_said_and_leaves_closed_theory_out(trained, tmp_path):
    sweep = Sweep(problem=small(), axes={"network.width": [10, 20]}, models="network", trials=1)
    results = run_sweep(sweep, tmp_path / "runs")
    for kept in (tmp_path / "runs").glob("sweep-*.toml"):
        kept.unlink()
    with (
        pytest.warns(UserWarning, match="closed theory is left out: file="),
        pytest.raises(InvalidInput, match="neither closed theory"),
    ):
        results.plot(theory=True)
    assert np.isfinite(means(results)).all()
