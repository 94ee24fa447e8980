"""Results come back from files as they were, and damaged files are refused in one line."""

import numpy as np
import pytest

import onegrad as og
from conftest import small
from odd_values import is_clear, outcome
from onegrad import InvalidInput
from onegrad.core.models import TrainedNetwork

TINY = small(dimension=12, readout__samples=15, network__width=6)


@pytest.fixture(scope="module")
def results():
    rng = np.random.default_rng(4)
    rows = og.EmpiricalData(rng.standard_normal((60, 4)), np.repeat(["a", "b"], 30))
    real = og.Problem(data=rows, readout={"samples": 8}, test_samples=8)
    several = TINY.replace(training__steps=2, readout__ridge=[0.1, 1.0])
    return {
        "simulated": og.simulate(several, ["network", "hermite", "linear"], trials=2, observe=True),
        "predicted": og.predict(TINY, draws=1),
        "closed": og.predict(TINY, method="closed"),
        "samples": og.predict_curve(TINY, samples=[10, 20], draws=1),
        "over": og.predict_curve(TINY, over={"scaling.strength": [0.2, 0.5]}, draws=1),
        "over descriptions": og.predict_curve(
            TINY, over={"data": [og.MixtureSource(), og.MixtureSource(alignment=0.5)]}, draws=1
        ),
        "real": og.simulate(real, ["network"], trials=1),
        "equivalence": og.equivalence(TINY, [1, 2], draws=2),
        "sizes": og.equivalence(TINY, [1], dimensions=[12, 16], draws=2),
        "tuned": og.tune(TINY, ["ridge", "width"], draws=2),
        "tuned on rows": og.tune(real, "ridge", draws=1, check_trials=2),
        "steps": og.take_steps(several),
    }


KEPT = ("simulated", "predicted", "closed", "samples", "over", "over descriptions", "real")
KEPT += ("equivalence", "sizes", "tuned", "tuned on rows", "steps")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", KEPT)
def test_a_result_comes_back_from_its_file_as_it_was(results, name, tmp_path):
    result = results[name]
    result.save(tmp_path / "kept.npz")
    again = type(result).load(tmp_path / "kept.npz")
    assert again == result
    assert hash(again) == hash(result)
    assert again.to_dict() == result.to_dict()
    assert again.to_frame().equals(result.to_frame()) if hasattr(result, "to_frame") else True
    assert repr(again) == repr(result)
    assert [path.name for path in tmp_path.iterdir()] == ["kept.npz"]


@pytest.mark.filterwarnings("ignore")
def test_other_numbers_are_not_equal(results):
    errors = results["simulated"]
    other = og.Errors(
        **{
            **{name: getattr(errors, name) for name in ("problem", "seed", "models", "runs")},
            "metrics": {n: np.nextafter(v, 9.0) for n, v in errors.metrics.items()},
        }
    )
    assert errors != other
    assert errors != errors["network"]
    assert errors != "network"


@pytest.mark.filterwarnings("ignore")
def test_a_damaged_file_is_refused_in_one_line_or_reads_as_it_was(results, tmp_path):
    tuned, path = results["tuned"], tmp_path / "kept.npz"
    tuned.save(path)
    whole = path.read_bytes()
    flipped = [whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :] for i in range(0, len(whole), 97)]
    refused, loaded = 0, []
    for contents in (*flipped, *(whole[:i] for i in range(0, len(whole), 499))):
        path.write_bytes(contents)
        said = outcome(lambda: loaded.append(og.Tuned.load(path)))
        refused += said is not None
        assert said is None or (is_clear(said) and path.name in said)
    assert all(again == tuned for again in loaded)  # a byte that says nothing, as a date
    assert refused > 0.9 * len(flipped)


@pytest.mark.filterwarnings("ignore")
def test_exchanged_numbers_with_sound_zips_are_seen(results, tmp_path):
    path = tmp_path / "kept.npz"
    results["tuned"].save(path)
    with np.load(path) as stored:
        arrays = dict(stored)
    np.savez(path, **{**arrays, "array0": arrays["array0"] + 1})
    with pytest.raises(InvalidInput, match=r"is damaged \(array0 has another digest\)"):
        og.Tuned.load(path)
    np.savez(path, **{n: a for n, a in arrays.items() if n != "array0"})
    with pytest.raises(InvalidInput, match="KeyError"):
        og.Tuned.load(path)


@pytest.mark.filterwarnings("ignore")
def test_files_of_others_are_refused(results, tmp_path):
    path = tmp_path / "kept.npz"
    results["tuned"].save(path)
    with pytest.raises(InvalidInput, match="holds Tuned, not Errors; load it as that"):
        og.Errors.load(path)
    with pytest.raises(InvalidInput, match="No such file"):
        og.Errors.load(tmp_path / "other.npz")
    with pytest.raises(InvalidInput, match=r"must end in \.npz"):
        results["tuned"].save(tmp_path / "kept.pkl")
    np.savez(path, record=np.array([{"a": 1}], dtype=object))
    with pytest.raises(InvalidInput, match="is damaged"):
        og.Errors.load(path)


@pytest.mark.filterwarnings("ignore")
def test_a_model_by_name_has_its_own_errors(results):
    errors = results["simulated"]
    network = errors["network"]
    assert network.models == (TrainedNetwork("network"),)
    for name, values in errors.metrics.items():
        assert np.array_equal(network.metrics[name][:, 0], values[:, 0])
    swapped = errors[["linear", "network"]]
    assert [model.name for model in swapped.models] == ["linear", "network"]
    assert np.array_equal(swapped.metrics["test_mse"][:, 0], errors.metrics["test_mse"][:, 2])
    with pytest.raises(InvalidInput, match="must be one of network, hermite, linear"):
        errors["hermit"]


@pytest.mark.filterwarnings("ignore")
def test_a_data_set_has_a_variable_per_metric_and_plain_dimensions(results):
    pytest.importorskip("xarray")
    data = results["simulated"].to_xarray()
    assert data["test_mse"].dims == ("trial", "model", "step", "ridge")
    assert set(data.data_vars) == set(results["simulated"].metrics)
    picked = data["test_mse"].sel(model="linear", step=2, ridge=1.0)
    assert np.array_equal(picked, results["simulated"].metrics["test_mse"][:, 2, 2, 1])
    assert results["samples"].to_xarray()["test_mse"].dims[2] == "samples"
    over = results["over"].to_xarray()
    assert float(over["test_mse"].sel(strength=0.5, model="network").squeeze()) == float(
        results["over"].metrics["test_mse"][0, 0, 1, 0]
    )
