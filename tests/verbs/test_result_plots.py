"""Pictures of results hold the numbers of their tables."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from conftest import small
from onegrad import InvalidInput, equivalence, predict, predict_curve, simulate, tune
from onegrad.plotting.curves import MOST_WIDTHS
from onegrad.plotting.style import CONSTANT_LABEL
from onegrad.results.equivalence import decay_factor, fit_decay

MODELS = ["network", "hermite", "linear"]


def axes():
    return Figure().subplots()


def points(drawn):
    """Return what is drawn with error bars: label, x and y of each series."""
    lines = [(c.get_label(), c.lines[0]) for c in drawn.containers if c.lines[0] is not None]
    return [(label, list(line.get_xdata()), np.asarray(line.get_ydata())) for label, line in lines]


def legend(drawn):
    return [text.get_text() for text in drawn.get_legend().get_texts()]


@pytest.fixture(scope="module")
def errors():
    return simulate(small(), MODELS, trials=3)


def test_one_problem_has_a_point_with_its_standard_error_for_every_model(errors):
    drawn = errors.plot(ax=axes())
    frame = errors.to_frame()
    frame = frame[frame["metric"] == "test_mse"]
    assert [y.item() for _, _, y in points(drawn)] == frame["mean"].tolist()
    for container, mean, error in zip(
        drawn.containers, frame["mean"], frame["stderr"], strict=True
    ):
        (bar,) = container.lines[2]
        low, high = bar.get_segments()[0][:, 1]
        assert (low, high) == pytest.approx((mean - error, mean + error))
    assert [t.get_text() for t in drawn.get_xticklabels()] == ["network", "Hermite model", "linear"]
    assert drawn.get_ylabel() == "test MSE"
    assert "simulation" in legend(drawn)


def test_a_prediction_on_the_same_axes_joins_legend_and_places(errors):
    theory = predict(small(), MODELS, draws=2)
    drawn = theory.plot(ax=errors.plot(ax=axes()))
    assert {"simulation", "theory"} <= set(legend(drawn))
    assert sum(line.get_label() == CONSTANT_LABEL for line in drawn.lines) <= 1
    names = {name for _, x, _ in points(drawn) for name in x}
    assert names == {"network", "Hermite model", "linear"}
    values = [y.item() for label, _, y in points(drawn) if label.endswith(", theory")]
    assert values == theory.estimate().mean[:, 0].tolist()


def test_a_model_keeps_its_colour_on_the_same_axes():
    counts = [20, 50, 200]
    first = predict_curve(small(), samples=counts, models=["network", "linear"], draws=1)
    second = predict_curve(small(), samples=counts, models=["hermite", "network"], draws=1)
    drawn = second.plot(ax=first.plot(ax=axes()))
    colours = {}
    for container in drawn.containers:
        colours.setdefault(container.get_label(), set()).add(container.lines[0].get_color())
    assert {name: len(seen) for name, seen in colours.items()} == {
        "network, theory": 1,
        "linear, theory": 1,
        "Hermite model, theory": 1,
    }
    assert len(set.union(*colours.values())) == 3


def test_a_curve_is_a_line_with_the_band_of_theory_error():
    counts = [20, 50, 200]
    curve = predict_curve(small(), samples=counts, models="network", draws=2)
    drawn = curve.plot(ax=axes(), constant=False)
    ((label, x, y),) = points(drawn)
    assert label == "network, theory"
    assert x == counts
    assert np.array_equal(y, curve.estimate().mean[0, :, 0])
    off = curve.estimate("theory_error").mean[0, :, 0]
    heights = drawn.collections[0].get_paths()[0].vertices[:, 1]
    assert heights.max() == pytest.approx((y * (1 + off)).max())
    assert heights.min() == pytest.approx((y * (1 - off)).min())
    assert drawn.get_xscale() == "log"


def test_other_metrics_have_no_band_which_does_not_speak_of_them():
    curve = predict_curve(small(), samples=[20, 50, 200], models="network", draws=1)
    drawn = curve.plot("objective", ax=axes(), constant=False)
    assert not drawn.collections


def test_a_second_axis_has_a_colour_per_value_and_x_chooses_the_first():
    curve = predict_curve(small(), samples=[20, 80], ridge=[1e-3, 0.1, 10.0], draws=1)
    drawn = curve.plot(ax=axes())
    assert len(points(drawn)) == 3 * 2
    assert len({to_hex(c.lines[0].get_color()) for c in drawn.containers}) == 3
    assert {"ridge 0.001", "ridge 0.1", "ridge 10"} <= set(legend(drawn))
    turned = curve.plot(x="ridge", ax=axes())
    assert len(points(turned)) == 2 * 2
    assert points(turned)[0][1] == [1e-3, 0.1, 10.0]


def test_curves_over_a_field_and_over_steps_go_along_it():
    over = predict_curve(small(), over={"scaling.strength": [0.2, 0.6]}, method="closed")
    drawn = over.plot(ax=axes())
    assert points(drawn)[0][1] == [0.2, 0.6]
    assert drawn.get_xlabel() == "strength"
    steps = simulate(small(training__steps=2), "network", trials=2)
    assert points(steps.plot(ax=axes()))[0][1] == [0, 1, 2]


def test_without_axes_a_new_figure_is_made():
    curve = predict_curve(small(), over={"scaling.strength": [0.2, 0.6]}, method="closed")
    first, second = curve.plot(), curve.plot()
    assert isinstance(first, Axes)
    assert first.figure is not second.figure
    pyplot.close(first.figure)
    pyplot.close(second.figure)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"metric": "loss"}, "metric='loss': must be one of test_mse"),
        ({"x": "samples"}, "is of one problem; leave it out"),
        ({"ax": "axes"}, "ax='axes': must be matplotlib Axes"),
        ({"constant": "yes"}, "must be True or False"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(errors, given, message):
    with pytest.raises(InvalidInput, match=message):
        errors.plot(**{"ax": axes(), **given})


def test_errors_without_a_finite_number_are_refused(errors):
    lost = replace(errors, metrics={n: np.full_like(v, np.nan) for n, v in errors.metrics.items()})
    with pytest.raises(InvalidInput, match="no value is a finite number"):
        lost.plot(ax=axes(), constant=False)


def gaps(drawn):
    """Return the gaps by colour: x, |gap| and whether it is hollow, in the order of x."""
    found = {}
    for container in drawn.containers:
        line = container.lines[0]
        if container.get_label().endswith("the network"):
            hollow = line.get_markerfacecolor() == "none"
            pairs = zip(line.get_xdata(), line.get_ydata(), strict=True)
            found.setdefault(line.get_color(), []).extend((x, y, hollow) for x, y in pairs)
    return [tuple(zip(*sorted(points), strict=True)) for points in found.values()]


def test_gaps_by_degree_are_those_of_the_table_with_tolerance_and_theorem():
    equal = equivalence(small(), [1, 2, 3], draws=3, tolerance=0.02)
    drawn = equal.plot(ax=axes())
    ((x, y, hollow),) = gaps(drawn)
    assert x == (1, 2, 3)
    assert np.array_equal(y, np.abs(equal.gaps))
    assert np.array_equal(hollow, np.array(equal.gaps) < 0)
    assert "tolerance 0.02" in legend(drawn)
    assert drawn.get_yscale() == "log"
    assert drawn.get_xticks().tolist() == [1, 2, 3]


def test_gaps_against_the_dimension_have_the_line_of_their_fit():
    sizes = [30, 60, 120]
    equal = equivalence(small(), [1, 2], dimensions=sizes, draws=6)
    drawn = equal.plot(ax=axes())
    assert len(gaps(drawn)) == 2
    for (x, y, _), place in zip(gaps(drawn), (0, 1), strict=True):
        assert list(x) == sizes
        assert np.array_equal(y, [abs(size.gaps[place]) for size in equal.sizes])
    fits = [fit for fit in equal.decay if fit.exponent is not None]
    lines = [line for line in drawn.lines if line.get_linestyle() == "-"]
    assert len(lines) == len(fits)
    for line, fit in zip(lines, fits, strict=True):
        slope = np.diff(np.log(line.get_ydata())) / np.diff(np.log(line.get_xdata()))
        assert slope == pytest.approx(-fit.exponent)


def test_the_factor_of_an_exact_power_is_found():
    n = np.array([50, 100, 400])
    gaps, errors = 3.0 * n**-0.7, 0.001 * n**-0.7
    fit = fit_decay(2, n, gaps, errors)
    assert decay_factor(fit.exponent, n, gaps, errors) == pytest.approx(3.0)


def test_gaps_of_zero_cannot_be_drawn():
    equal = equivalence(small(), [1, 2], draws=2)
    with pytest.raises(InvalidInput, match="no gap is a finite number other than 0"):
        replace(equal, gaps=(0.0, float("nan"))).plot(ax=axes())


def test_tuning_is_drawn_against_penalty_and_rate_with_its_choice():
    tuned = tune(small(), ["ridge", "learning_rate"], draws=1)
    against_ridge = tuned.plot(ax=axes())
    _, x, y = points(against_ridge)[0]
    assert x == tuned.ridge_curve["ridge"].tolist()
    assert y.tolist() == tuned.ridge_curve["test_mse"].tolist()
    label, (chosen,), (best,) = points(against_ridge)[-1]
    assert (chosen, best) == (tuned.values["ridge"], tuned.best)
    assert label.startswith("chosen")
    against_rate = tuned.plot("learning_rate", ax=axes())
    assert points(against_rate)[0][1] == tuned.curve["learning_rate"].tolist()
    with pytest.raises(InvalidInput, match="against='width': must be one of ridge, learning_rate"):
        tuned.plot("width", ax=axes())


@pytest.mark.filterwarnings("ignore:learning_rate")
def test_widths_are_drawn_at_the_best_rate_of_each():
    tuned = tune(small(), ["width", "learning_rate"], draws=1)
    _, x, y = points(tuned.plot("width", ax=axes()))[0]
    best = tuned.curve.groupby("width")["test_mse"].min()
    assert x == best.index.tolist()
    assert y.tolist() == best.tolist()
    by_width = tuned.plot("learning_rate", ax=axes())
    assert tuned.curve["width"].nunique() > MOST_WIDTHS
    assert len(points(by_width)) == MOST_WIDTHS + 1
    chosen = f"width {tuned.values['width']:g}"
    assert chosen in legend(by_width)
