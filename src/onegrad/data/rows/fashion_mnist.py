"""Fashion-MNIST from wherever it lies on this machine; downloaded only when asked.

Files are known by the digest of their decompressed bytes: gzip headers differ between mirrors.
"""

from __future__ import annotations

import gzip
import os
import sys
import urllib.request
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPException
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from onegrad.describe.checks import path_of, truth
from onegrad.describe.digests import digest_of_bytes
from onegrad.describe.exceptions import Failure, InvalidInput
from onegrad.describe.files import make_folder, replace_file
from onegrad.describe.screen import FieldsOnScreen

SIDE = 28
VARIABLE = "ONEGRAD_DATA"
PACKAGED = Path("/usr/share/datasets/fashion-mnist")  # Debian's dataset-fashion-mnist
MIRRORS = (
    "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
)
FILES = {
    "train-images-idx3-ubyte": "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "train-labels-idx1-ubyte": "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    "t10k-images-idx3-ubyte": "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "t10k-labels-idx1-ubyte": "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
}


@dataclass(frozen=True, repr=False)
class LabelledImages(FieldsOnScreen):
    """Images as rows of pixels (0–255) and their class numbers."""

    images: NDArray[np.uint8]
    labels: NDArray[np.uint8]


class DataNotFound(InvalidInput):
    """The data set is nowhere on this machine; the message lists where it was looked for."""


def load_fashion_mnist(
    data_dir: str | Path | None = None, *, download: bool = False
) -> LabelledImages:
    """Return the 70,000 images of Fashion-MNIST, the training set first, then the test set.

    Looks in `data_dir`, $ONEGRAD_DATA, the user's cache, Debian's package, and the usual places of
    torchvision and Keras, gzip or raw. With `download` the files are fetched into `data_dir` or the
    cache when none of these has them.
    """
    if data_dir is not None:
        path_of("data_dir", data_dir)
    truth("download", download)
    searched = []
    for folder in _places(data_dir):
        searched.append(str(folder))
        images = _read_folder(folder)
        if images is not None:
            return images
    if download:
        folder = cache_folder() if data_dir is None else Path(data_dir)
        for name in FILES:
            _download(name, folder)
        images = _read_folder(folder)
        assert images is not None
        return images
    raise DataNotFound(
        f"data_dir={str(data_dir)!r}: Fashion-MNIST is in none of {', '.join(searched)}; install "
        "the Debian package dataset-fashion-mnist, or download it with onegrad fetch (in Python, "
        "download=True)"
    )


def fashion_mnist_folder() -> Path | None:
    """Return the first usual place with all files, unread; None when there is none."""
    return next((folder for folder in _places(None) if _files_in(folder) is not None), None)


def load_sample() -> LabelledImages:
    """Return 60 images of each of the classes 0, 1, 5 and 9, which ship with onegrad.

    Fashion-MNIST, Copyright (c) 2017 Zalando SE, MIT licence.
    """
    with (
        resources.files("onegrad.data.rows")
        .joinpath("fashion_mnist_sample.npz")
        .open("rb") as file,
        np.load(file, allow_pickle=False) as stored,
    ):
        return LabelledImages(stored["images"], stored["labels"])


def cache_folder() -> Path:
    """Return the user's cache for downloaded data."""
    usual = {
        "darwin": str(Path.home() / "Library" / "Caches"),
        "win32": os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local"),
    }.get(sys.platform, str(Path.home() / ".cache"))
    return Path(os.environ.get("XDG_CACHE_HOME") or usual) / "onegrad" / "fashion-mnist"


def _places(data_dir: str | Path | None) -> Iterator[Path]:
    if data_dir is not None:
        yield Path(data_dir)
        return  # who names a folder means that one
    if os.environ.get(VARIABLE):
        yield Path(os.environ[VARIABLE])
        yield Path(os.environ[VARIABLE]) / "fashion-mnist"
    yield cache_folder()
    yield PACKAGED
    for base in (Path("data"), Path.home() / "data"):
        yield base / "FashionMNIST" / "raw"  # torchvision
    yield Path.home() / ".keras" / "datasets" / "fashion-mnist"


def _read_folder(folder: Path) -> LabelledImages | None:
    """Return the images in a folder, None when files are missing; damaged ones raise."""
    places = _files_in(folder)
    if places is None:
        return None
    parts = {name: _checked(name, path) for name, path in places.items()}
    images = [parts[name][16:] for name in FILES if "images" in name]
    labels = [parts[name][8:] for name in FILES if "labels" in name]
    pixels = np.frombuffer(b"".join(images), np.uint8).reshape(-1, SIDE * SIDE)
    return LabelledImages(pixels, np.frombuffer(b"".join(labels), np.uint8))


def _files_in(folder: Path) -> dict[str, Path] | None:
    """Return where a folder has the files, raw or gzip; None when one is missing."""
    places = {}
    for name in FILES:
        here = [folder / name, folder / f"{name}.gz"]
        path = next((path for path in here if path.is_file()), None)
        if path is None:
            return None
        places[name] = path
    return places


def _checked(name: str, path: Path) -> bytes:
    """Return the decompressed bytes of a file if they have the right digest."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InvalidInput(
            f"file={str(path)!r}: cannot be read ({error.strerror}); check its permissions"
        ) from None
    plain = _decompressed(data)
    if plain is None or digest_of_bytes(plain) != FILES[name]:
        raise InvalidInput(
            f"file={str(path)!r}: is damaged, its digest is not Fashion-MNIST's; remove it"
        )
    return plain


def _decompressed(data: bytes) -> bytes | None:
    if data[:2] != b"\x1f\x8b":
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        return None


def _download(name: str, folder: Path) -> None:
    """Fetch one file from the first mirror that has it whole; nothing else is kept."""
    if (folder / f"{name}.gz").is_file():
        return
    reasons = []
    for mirror in MIRRORS:
        try:
            with urllib.request.urlopen(f"{mirror}{name}.gz", timeout=60) as answer:
                data = answer.read()
        except (OSError, ValueError, HTTPException) as error:
            reasons.append(str(error) or type(error).__name__)
            continue
        plain = _decompressed(data)
        if plain is None or digest_of_bytes(plain) != FILES[name]:
            reasons.append("another digest")
            continue
        make_folder(folder, field="data_dir")
        replace_file(folder / f"{name}.gz", lambda path, data=data: path.write_bytes(data))  # type: ignore[misc]
        return
    raise Failure(
        f"download: no mirror gave {name} ({'; '.join(reasons)}); try again, or install the Debian "
        "package dataset-fashion-mnist"
    )
