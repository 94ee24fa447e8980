"""Fashion-MNIST: the images that ship, where the official files are found, and their download."""

import gzip
import hashlib
import os
import pty
import shutil
import threading
import urllib.request
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from conftest import onegrad_here
from onegrad import InvalidInput
from onegrad.cli.tools import fetch
from onegrad.data import fashion_mnist
from onegrad.data.fashion_mnist import (
    FILES,
    SAMPLE,
    fashion_mnist_folder,
    load_fashion_mnist,
    load_sample,
)
from onegrad.describe.exceptions import Failure
from optional_parts import IMAGES, needs

CLOSED_PORT = "http://127.0.0.1:9/"


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """Make every usual place empty."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("ONEGRAD_DATA", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(fashion_mnist, "PACKAGED", tmp_path / "none")
    monkeypatch.setattr(fashion_mnist, "MIRRORS", (CLOSED_PORT,))
    monkeypatch.chdir(tmp_path)
    return tmp_path


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


@contextmanager
def served(folder, *, cut=0):
    """Yield the address of a server of the folder's files, and the paths that were asked for.

    With `cut`, every answer ends that many bytes early.
    """
    asked = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            data = (folder / self.path.rpartition("/")[2]).read_bytes()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) - cut])

        def log_message(self, *_):
            """Keep the test's output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def fetched(*options):
    return onegrad_here("fetch", *options)


def test_the_sample_holds_1200_images_of_each_of_four_classes():
    sample = load_sample()
    assert sample.images.shape == (4800, 784)
    assert np.bincount(sample.labels).tolist() == [1200, 1200, 0, 0, 0, 1200, 0, 0, 0, 1200]
    folder = Path(fashion_mnist.__file__).parent
    assert (folder / SAMPLE).stat().st_size < 2e6
    licence = (folder / SAMPLE).with_suffix(".LICENSE").read_text("utf-8")
    assert "Copyright (c) 2017 Zalando SE" in licence


@needs(IMAGES)
def test_the_sample_is_the_first_training_images_of_the_official_files():
    full, sample = load_fashion_mnist(), load_sample()
    assert full.images.shape == (70_000, 784)
    assert np.bincount(full.labels).tolist() == [7000] * 10
    for label in (0, 1, 5, 9):
        first = full.images[:60_000][full.labels[:60_000] == label][:1200]
        assert np.array_equal(first, sample.images[sample.labels == label])


@pytest.mark.parametrize("damage", ["missing", "cut", "other pixels", "other arrays", "text"])
def test_a_damaged_sample_is_refused_in_one_line(tmp_path, monkeypatch, damage):
    whole = Path(fashion_mnist.__file__).with_name(SAMPLE).read_bytes()
    sample = load_sample()
    file = tmp_path / SAMPLE
    if damage == "cut":
        file.write_bytes(whole[:-100_000])
    elif damage == "other pixels":
        changed = sample.images.copy()
        changed[0, 0] += 1
        np.savez(file, images=changed, labels=sample.labels)
    elif damage == "other arrays":
        np.savez(file, labels=sample.labels)
    elif damage == "text":
        file.write_text("version https://git-lfs.github.com/spec/v1")
    monkeypatch.setattr(fashion_mnist.resources, "files", lambda package: tmp_path)
    with pytest.raises(InvalidInput, match="missing or damaged; install onegrad again") as refused:
        load_sample()
    assert "\n" not in str(refused.value)


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


def test_the_message_lists_every_place_and_two_remedies(nowhere):
    with pytest.raises(InvalidInput, match=r"cache.*\.keras.*dataset-fashion-mnist.*download=True"):
        load_fashion_mnist()


@pytest.mark.parametrize("inside", ["", "fashion-mnist"])
def test_onegrad_data_hides_every_other_place(nowhere, tiny_set, monkeypatch, inside):
    monkeypatch.setattr(fashion_mnist, "PACKAGED", tiny_set)
    assert fashion_mnist_folder() == tiny_set
    own = nowhere / "own"
    monkeypatch.setenv("ONEGRAD_DATA", str(own))
    assert fashion_mnist_folder() is None
    with pytest.raises(InvalidInput, match=r"own/fashion-mnist.*; unset ONEGRAD_DATA") as error:
        load_fashion_mnist()
    assert str(tiny_set) not in str(error.value)
    shutil.copytree(tiny_set, own / inside)
    assert len(load_fashion_mnist().images) == 5


def test_without_a_home_folder_other_places_are_searched(nowhere, tiny_set, monkeypatch):
    def unknown(_=None):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", unknown)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    assert fashion_mnist_folder() is None
    refused = fetched()
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "there is no home folder to download to" in refused.stderr
    monkeypatch.setattr(fashion_mnist, "PACKAGED", tiny_set)
    assert len(load_fashion_mnist().images) == 5


def test_a_damaged_file_is_refused(tiny_set):
    assert len(load_fashion_mnist(tiny_set).labels) == 5
    path = tiny_set / "t10k-labels-idx1-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InvalidInput, match="is damaged"):
        load_fashion_mnist(tiny_set)


def test_fetch_downloads_what_is_missing_once_with_a_line_per_file(nowhere, tiny_set, monkeypatch):
    cache = nowhere / "cache" / "onegrad" / "fashion-mnist"
    cache.mkdir(parents=True)
    first, *others = FILES
    shutil.copy(tiny_set / f"{first}.gz", cache)  # an earlier download was stopped here
    with served(tiny_set) as (address, asked):
        monkeypatch.setattr(fashion_mnist, "MIRRORS", (address,))
        done = fetched()
        assert done.returncode == 0, done.stderr
        assert asked == [f"/{name}.gz" for name in others]
        assert done.stdout == f"5 images of 10 classes in {cache}; use --data fashion-mnist\n"
        assert [line.split()[2] for line in done.stderr.splitlines()] == others
        assert fetched().stdout == done.stdout
        assert len(asked) == 3
    assert sorted(file.name for file in cache.iterdir()) == sorted(f"{name}.gz" for name in FILES)


def test_fetch_writes_to_onegrad_data(nowhere, tiny_set, monkeypatch):
    monkeypatch.setenv("ONEGRAD_DATA", str(nowhere / "own"))
    with served(tiny_set) as (address, _):
        monkeypatch.setattr(fashion_mnist, "MIRRORS", (address,))
        assert fetched().returncode == 0
    assert fashion_mnist_folder() == nowhere / "own" / "fashion-mnist"


def test_fetch_goes_through_the_proxy_of_the_environment(nowhere, tiny_set, monkeypatch):
    with served(tiny_set) as (proxy, asked):
        monkeypatch.setenv("http_proxy", proxy)
        monkeypatch.setenv("no_proxy", "")
        monkeypatch.setattr(urllib.request, "_opener", None)  # made anew, it reads the environment
        monkeypatch.setattr(fashion_mnist, "MIRRORS", ("http://mirror.invalid/",))
        assert fetched().returncode == 0
    assert asked == [f"http://mirror.invalid/{name}.gz" for name in FILES]


def test_fetch_shows_a_bar_on_a_terminal(nowhere, tiny_set, monkeypatch):
    ours, theirs = pty.openpty()
    with served(tiny_set) as (address, _), os.fdopen(theirs, "w") as terminal:
        monkeypatch.setattr(fashion_mnist, "MIRRORS", (address,))
        monkeypatch.setattr("sys.stderr", terminal)
        monkeypatch.setenv("TERM", "xterm")
        fetch.callback(data_dir=None)
        shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert "train-images-idx3-ubyte" in shown
    assert "bytes" in shown or "kB" in shown
    assert "downloading" not in shown


@pytest.mark.parametrize("fault", ["other bytes", "no gzip", "cut"])
def test_a_bad_mirror_leaves_nothing_and_the_next_one_is_asked(
    nowhere, tiny_set, monkeypatch, fault
):
    bad = nowhere / "bad"
    shutil.copytree(tiny_set, bad)
    for file in bad.iterdir() if fault != "cut" else ():
        file.write_bytes(gzip.compress(b"x") if fault == "other bytes" else b"<html>")
    reason = "the connection ended after" if fault == "cut" else "the digest differs"
    with served(bad, cut=7 * (fault == "cut")) as (first, _), served(tiny_set) as (second, _):
        monkeypatch.setattr(fashion_mnist, "MIRRORS", (first,))
        with pytest.raises(Failure, match=reason):
            load_fashion_mnist(download=True)
        assert not list((nowhere / "cache").rglob("*.gz*"))
        monkeypatch.setattr(fashion_mnist, "MIRRORS", (first, second))
        assert len(load_fashion_mnist(download=True).images) == 5


def test_without_a_network_one_line_names_the_debian_package(nowhere):
    done = fetched()
    assert done.returncode != 0
    assert done.stderr.count("\n") == 1
    assert "no mirror gave train-images-idx3-ubyte" in done.stderr
    assert "install the Debian package dataset-fashion-mnist" in done.stderr


def test_a_folder_that_cannot_be_made_is_refused_in_one_line(nowhere):
    (nowhere / "file").write_text("")
    done = fetched("--data-dir", str(nowhere / "file" / "inside"))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "cannot be written" in done.stderr
