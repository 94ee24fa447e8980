"""Fashion-MNIST and mixtures fitted to labelled data."""

import gzip
import hashlib
import shutil
from http.client import IncompleteRead

import numpy as np
import pytest

from onegrad import InvalidInput, MixtureSource, Problem, fit_mixture, predict, simulate
from onegrad.data.rows import fashion_mnist
from onegrad.data.rows.fashion_mnist import FILES, load_fashion_mnist, load_sample
from onegrad.data.rows.fitting import _gaussians, log_likelihood
from onegrad.describe.exceptions import Failure
from optional_parts import IMAGES, needs


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """Make every usual place empty."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("ONEGRAD_DATA", raising=False)
    monkeypatch.setattr(fashion_mnist, "PACKAGED", tmp_path / "none")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_sample_holds_sixty_images_of_four_classes():
    sample = load_sample()
    assert sample.images.shape == (240, 784)
    assert np.bincount(sample.labels)[[0, 1, 5, 9]].tolist() == [60] * 4
    assert sample.images.max() == 255


@pytest.fixture
def tiny_set(tmp_path, monkeypatch):
    """Put three images of training and two of test in the data set's place; return its folder."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    rng = np.random.default_rng(1)
    digests = {}
    for name in FILES:
        count = 3 if name.startswith("train") else 2
        length, header = (784, 16) if "images" in name else (1, 8)
        data = bytes(header) + rng.bytes(count * length)
        (folder / f"{name}.gz").write_bytes(gzip.compress(data))
        digests[name] = hashlib.sha256(data).hexdigest()
    monkeypatch.setattr(fashion_mnist, "FILES", digests)
    return folder


@needs(IMAGES)
def test_all_images_are_found_and_the_sample_is_of_them():
    data = load_fashion_mnist()
    assert data.images.shape == (70_000, 784)
    assert np.bincount(data.labels).tolist() == [7000] * 10
    sample = load_sample()
    first = data.images[data.labels == 5][:60]
    assert np.array_equal(first, sample.images[sample.labels == 5])


@pytest.mark.parametrize("raw", [True, False])
def test_files_are_found_raw_or_compressed_in_the_usual_places(nowhere, tiny_set, raw):
    folder = nowhere / "data" / "FashionMNIST" / "raw"
    folder.mkdir(parents=True)
    for name in FILES:
        if raw:
            (folder / name).write_bytes(gzip.decompress((tiny_set / f"{name}.gz").read_bytes()))
        else:
            shutil.copy(tiny_set / f"{name}.gz", folder)
    assert load_fashion_mnist().images.shape == (5, 784)


def test_where_it_was_looked_for_is_said_with_two_remedies(nowhere):
    with pytest.raises(InvalidInput, match=r"cache.*\.keras.*dataset-fashion-mnist.*download=True"):
        load_fashion_mnist()


def test_a_damaged_file_is_refused(tiny_set):
    assert len(load_fashion_mnist(tiny_set).labels) == 5
    path = tiny_set / "t10k-labels-idx1-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InvalidInput, match="is damaged"):
        load_fashion_mnist(tiny_set)


def test_a_download_tries_the_second_mirror_and_keeps_whole_files(nowhere, tiny_set, monkeypatch):
    broken = nowhere / "broken"
    broken.mkdir()
    for name in FILES:
        (broken / f"{name}.gz").write_bytes(b"not it")
    mirrors = (f"{broken.as_uri()}/", f"{tiny_set.as_uri()}/")
    monkeypatch.setattr(fashion_mnist, "MIRRORS", mirrors)
    assert len(load_fashion_mnist(download=True).images) == 5
    kept = sorted(p.name for p in fashion_mnist.cache_folder().iterdir())
    assert kept == sorted(f"{name}.gz" for name in FILES)


def test_a_corrupted_download_leaves_nothing_behind(nowhere, monkeypatch):
    for name in FILES:
        (nowhere / f"{name}.gz").write_bytes(gzip.compress(b"other bytes"))
    monkeypatch.setattr(fashion_mnist, "MIRRORS", (f"{nowhere.as_uri()}/",))
    with pytest.raises(Failure, match="another digest"):
        load_fashion_mnist(download=True)
    assert not fashion_mnist.cache_folder().exists()


def test_a_broken_answer_leads_to_the_next_mirror(nowhere, monkeypatch):
    asked = []

    def broken(address, timeout):
        asked.append(address)
        raise IncompleteRead(b"half")

    monkeypatch.setattr(fashion_mnist.urllib.request, "urlopen", broken)
    with pytest.raises(Failure, match="no mirror gave"):
        load_fashion_mnist(download=True)
    assert len(asked) == len(fashion_mnist.MIRRORS)


def test_a_cache_that_cannot_be_made_is_one_line(nowhere, monkeypatch):
    (nowhere / "file").write_text("")
    for name in FILES:
        (nowhere / f"{name}.gz").write_bytes(b"")
    monkeypatch.setattr(fashion_mnist, "MIRRORS", (f"{nowhere.as_uri()}/",))
    monkeypatch.setattr(fashion_mnist, "FILES", dict.fromkeys(FILES, hashlib.sha256().hexdigest()))
    with pytest.raises(InvalidInput, match="cannot be written"):
        load_fashion_mnist(nowhere / "file" / "inside", download=True)


def two_clusters_per_class(rng, rows):
    """Return rows of four separate Gaussians, two per label, each with one spike."""
    centres = 4 * rng.standard_normal((4, 12))
    spikes = np.linalg.qr(rng.standard_normal((12, 4)))[0].T
    which = rng.integers(4, size=rows)
    noise = rng.standard_normal((rows, 12)) + 2 * rng.standard_normal((rows, 1)) * spikes[which]
    return centres[which] + noise, np.where(which < 2, 1.0, -1.0)


def test_the_fit_recovers_means_levels_and_spikes(rng):
    x, y = two_clusters_per_class(rng, 8000)
    source = fit_mixture(x, y, components_per_class=2, rank=1)
    assert isinstance(source, MixtureSource)
    assert sorted(c.label for c in source.components) == [-1, -1, 1, 1]
    for c in source.components:
        assert c.weight == pytest.approx(0.25, abs=4 * np.sqrt(0.25 * 0.75 / 8000))
        assert c.level == pytest.approx(1.0, abs=0.05)
        assert c.strengths[0] == pytest.approx(4.0, abs=4 * 5 * np.sqrt(2 / 2000))


def test_the_number_of_components_is_chosen_by_held_out_likelihood(rng):
    x, y = two_clusters_per_class(rng, 4000)
    assert len(fit_mixture(x, y, rank=1).components) == 4
    fresh = two_clusters_per_class(np.random.default_rng(20250301), 4000)
    scores = [log_likelihood(_gaussians(x, y, n, 1, 0), *fresh) for n in (1, 2)]
    assert scores[1] > scores[0] + 0.5  # the control: one Gaussian per class is much worse


@pytest.mark.filterwarnings("ignore:method='single'")
def test_a_fitted_mixture_can_be_simulated_on_and_predicted_from():
    sample = load_sample()
    chosen = np.isin(sample.labels, (0, 1))
    x = sample.images[chosen] / 255
    y = np.where(sample.labels[chosen] == 0, 1.0, -1.0)
    source = fit_mixture(x, y, components_per_class=2, rank=3)
    problem = Problem(
        dimension=784,
        readout={"samples": 60, "ridge": 1e-2},
        data=source,
        teacher={"kind": "labels"},
        scaling={"learning_rate": 1.0, "spread": 1.0},
        network={"width": 40},
    )
    trained = simulate(problem, ["network"], trials=8).estimate()
    theory = predict(problem, ["network"], draws=8).estimate()
    error = np.hypot(trained.stderr, theory.stderr)[0, 0]
    assert abs(trained.mean - theory.mean)[0, 0] <= 4 * error + 0.1 * trained.mean[0, 0]
    assert theory.mean[0, 0] < 0.5  # labels ±1: far better than chance


@pytest.mark.parametrize(
    ("x", "y", "options", "message"),
    [
        (np.zeros((4, 3)), np.ones(4), {}, "all rows are equal"),
        (np.full((4, 3), np.nan), np.ones(4), {}, "must be finite"),
        (1e200 * np.eye(4), np.ones(4), {"rank": 1}, "nearer to 1"),
        (np.eye(4), ["a"] * 4, {}, "map texts to numbers"),
        (np.eye(3), np.ones(3), {"rank": 1}, "too few to choose by"),
        (np.zeros((0, 3)), np.zeros(0), {}, "rows × features"),
        (np.zeros((4, 3)), np.ones(5), {}, "one label per row"),
        (np.eye(4), np.ones(4), {"rank": 4}, "must be below the 4 features"),
        (np.eye(4), np.ones(4), {"rank": 1, "components_per_class": 3}, "has only 4 rows"),
        (np.eye(4), np.ones(4), {"rank": 1, "components_per_class": 0}, "at least 1"),
    ],
)
def test_data_that_cannot_be_fitted_is_refused(x, y, options, message):
    with pytest.raises(InvalidInput, match=message):
        fit_mixture(x, y, **options)
