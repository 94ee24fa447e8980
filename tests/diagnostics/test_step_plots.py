"""Pictures of runs hold what was seen after every step."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

from conftest import small, small_steps
from onegrad import InvalidInput, take_steps


def axes():
    return Figure().subplots()


@pytest.fixture(scope="module")
def run():
    return take_steps(small_steps())


def by_label(drawn):
    return {line.get_label(): np.asarray(line.get_ydata(), float) for line in drawn.lines}


def test_overlaps_of_weights_and_gradients_are_drawn_for_every_direction(run):
    drawn = run.plot(ax=axes())
    lines, table = by_label(drawn), run.to_frame()
    assert len(lines) == 4
    for i in (1, 2):
        assert np.array_equal(
            lines[f"weights, direction {i}"], table[f"weight_overlap_{i}"].to_numpy(float)
        )
        later = [record.gradient.strength[i - 1] for record in run.records[1:]]
        assert np.array_equal(lines[f"gradients, direction {i}"][1:], later)
        assert np.isnan(lines[f"gradients, direction {i}"][0])
    assert drawn.get_xticks().tolist() == [0, 1, 2, 3]


def test_angles_and_errors_are_those_of_the_table(run):
    table = run.to_frame()
    angles = by_label(run.plot("angles", ax=axes()))
    assert np.array_equal(
        angles["gradients"], table["gradient_angle"].to_numpy(float), equal_nan=True
    )
    errors = by_label(run.plot("errors", ax=axes()))
    assert np.array_equal(errors["test"], table["test_mse"].to_numpy(float))
    assert np.array_equal(errors["training"], table["train_mse"].to_numpy(float))


@pytest.mark.parametrize(("what", "first"), [("features", 0), ("gradients", 1), ("changes", 1)])
def test_spectra_have_all_values_at_their_step_and_those_outside_in_red(run, what, first):
    drawn = run.plot(what, ax=axes())
    parts = {"features": "features", "gradients": "gradient_spectrum", "changes": "change_spectrum"}
    for record in run.records[first:]:
        spectrum = getattr(record, parts[what])
        outside = spectrum.observed if what == "features" else spectrum.rank
        here = [line for line in drawn.lines if set(line.get_xdata()) == {record.step}]
        values = [v for line in here for v in line.get_ydata()]
        assert sorted(values) == sorted(spectrum.values[spectrum.values > 0])
        red = [line for line in here if line.get_color() == "#CC0000"]
        assert sum(len(line.get_ydata()) for line in red) == (outside or 0)
    assert drawn.get_xticks().tolist() == [record.step for record in run.records[first:]]


def test_a_single_spectrum_is_drawn_by_rank_with_its_edge(run):
    record = run.records[1]
    for spectrum in (record.features, record.change_spectrum, record.gradient_spectrum):
        drawn = spectrum.plot(ax=axes())
        values = np.concatenate([line.get_ydata() for line in drawn.lines[:2]])
        assert sorted(values) == sorted(spectrum.values[spectrum.values > 0])
        assert set(drawn.lines[2].get_ydata()) == {spectrum.edge}
    texts = [text.get_text() for text in record.features.plot(ax=axes()).texts]
    assert len(texts) == min(record.features.observed, len(record.features.overlaps))
    assert all(text.startswith("H") for text in texts)


def test_what_a_run_does_not_have_is_said_in_one_line(run):
    with pytest.raises(InvalidInput, match="what='angels': must be one of overlaps, angles"):
        run.plot("angels", ax=axes())
    line = take_steps(small(training__steps=1))  # one direction: no angle within its span
    with pytest.raises(InvalidInput, match="is not known of this run; draw something else"):
        line.plot("angles", ax=axes())
    for what in ("overlaps", "features", "errors"):
        with pytest.raises(InvalidInput, match="is not known of this run"):
            replace(run, records=()).plot(what, ax=axes())
    with pytest.raises(InvalidInput, match="no singular value is above 0"):
        replace(run.records[1].change_spectrum, values=np.zeros(3)).plot(ax=axes())
