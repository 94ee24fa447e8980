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
    return {c.get_label(): np.asarray(c.lines[0].get_ydata(), float) for c in drawn.containers}


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
    lines = {c.get_label(): c.lines[0] for c in drawn.containers}
    for record in run.records[first:]:
        spectrum = getattr(record, parts[what])
        outside = (spectrum.observed if what == "features" else spectrum.rank) or 0
        here = {
            name: line.get_ydata()[np.array(line.get_xdata()) == record.step]
            for name, line in lines.items()
        }
        red = here.get("outside the bulk", [])
        assert sorted([*here["bulk"], *red]) == sorted(spectrum.values[spectrum.values > 0])
        assert len(red) == outside
        assert here["edge of the bulk"].tolist() == [spectrum.edge]
    reds = [name for name, line in lines.items() if line.get_color() == "#CC0000"]
    assert set(reds) <= {"outside the bulk"}
    assert drawn.get_xticks().tolist() == [record.step for record in run.records[first:]]


def test_a_single_spectrum_is_drawn_by_rank_with_its_edge(run):
    record = run.records[1]
    for spectrum in (record.features, record.change_spectrum, record.gradient_spectrum):
        drawn = spectrum.plot(ax=axes())
        values = np.concatenate([c.lines[0].get_ydata() for c in drawn.containers])
        assert sorted(values) == sorted(spectrum.values[spectrum.values > 0])
        (edge,) = (line for line in drawn.lines if line.get_label() == "edge of the bulk")
        assert set(edge.get_ydata()) == {spectrum.edge}
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
