"""onegrad doctor tells what is here, in a table and as JSON, whatever is missing."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import onegrad
from onegrad.cli.main import cli
from onegrad.data import fashion_mnist
from onegrad.describe.extras import EXTRAS
from onegrad.machine import environment


def told(*options):
    result = CliRunner().invoke(cli, ["doctor", *options], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def told_values():
    return json.loads(told("--json"))


@pytest.fixture
def no_images(monkeypatch, tmp_path):
    """A machine on which Fashion-MNIST lies nowhere."""
    monkeypatch.setenv(fashion_mnist.VARIABLE, str(tmp_path))
    return tmp_path


def test_versions_blas_processors_and_memory_are_those_of_this_process():
    found = told_values()
    assert found["onegrad"] == onegrad.__version__
    assert found["packages"]["numpy"] == np.__version__
    assert 1 <= found["processors"]["usable"] <= found["processors"]["machine"]
    assert found["memory_bytes"] is None or found["memory_bytes"] > 1e8
    assert all(library["threads"] >= 1 for library in found["blas"])
    assert set(found["extras"]) == set(EXTRAS)


def test_the_table_has_a_line_for_everything_in_the_json():
    shown = told()
    for word in ("onegrad", "Python", "numpy", "processors", "memory", "BLAS", "threads"):
        assert word in shown
    for name in (
        *(f"extra {extra}" for extra in EXTRAS),
        "data fashion-mnist",
        "data digits",
        "data wine",
    ):
        assert name in shown


def test_images_are_found_by_their_files(no_images):
    assert told_values()["data"]["fashion-mnist"] is None
    assert "onegrad fetch" in told()
    for name in fashion_mnist.FILES:
        (no_images / f"{name}.gz").write_bytes(b"unread")
    assert told_values()["data"]["fashion-mnist"] == str(no_images)


def test_missing_packages_are_named_with_their_command(monkeypatch):
    monkeypatch.setattr(environment, "missing", lambda extra: ["what-it-needs"])
    assert told_values()["extras"]["figures"] == {"missing": ["what-it-needs"]}
    assert "what-it-needs missing; pip install 'onegrad[figures]'" in told()


def test_what_cannot_be_told_does_not_stop_it(monkeypatch):
    def denied(*_):
        raise PermissionError(13, "Permission denied")

    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(environment, "machine_bytes", denied)
    monkeypatch.setattr(Path, "home", no_home)
    monkeypatch.setattr(fashion_mnist, "PACKAGED", Path("nowhere"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    found = told_values()
    assert found["memory_bytes"] is None
    assert found["data"]["fashion-mnist"] is None
    assert "unknown" in told()


def test_a_library_is_that_of_the_wheel_that_brings_it():
    bundled = str(Path("site-packages") / "numpy.libs" / "libopenblas.so")
    assert environment._owner(f"/x/{bundled}") == "numpy"
    assert environment._owner("/usr/lib/libblas.so.3") is None
