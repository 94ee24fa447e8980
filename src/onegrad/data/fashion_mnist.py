"""Fashion-MNIST: the official files if they are on this machine, and the images that ship.

Files are identified by the digest of their decompressed bytes: gzip headers differ between mirrors.
Nothing is downloaded unless that is asked for.
"""

from __future__ import annotations

import gzip
import os
import sys
import urllib.request
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPException
from importlib import resources
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from onegrad.describe.exceptions import Failure, InvalidInput
from onegrad.describe.files import digest_of_bytes, make_folder, replace_file
from onegrad.describe.numbers import path_of, truth
from onegrad.describe.tables import FieldsAsTable

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
SAMPLE = "fashion_mnist_sample.npz"  # written by benchmarks/sample_images.py
SAMPLE_DIGEST = "8e075714edae4036db53bfe63769d6f77f9af1a983d26d75d0f37c082ce5915b"
TIMEOUT = 30.0  # seconds without an answer from a mirror
PIECE = 2**18
Progress = Callable[[str, int, int], None]  # file, bytes that came, all its bytes or 0


@dataclass(frozen=True, repr=False)
class LabelledImages(FieldsAsTable):
    """Images as rows of pixels (0–255) and their class numbers."""

    images: NDArray[np.uint8]
    labels: NDArray[np.uint8]


class DataNotFound(InvalidInput):
    """The data set is nowhere on this machine; the message lists where it was looked for."""


def load_fashion_mnist(
    data_dir: str | Path | None = None, *, download: bool = False
) -> LabelledImages:
    """Return the 70,000 images of Fashion-MNIST, the training set first, then the test set.

    Looks in `data_dir` alone if it is given, else in $ONEGRAD_DATA alone if it is set, else in the
    user's cache, Debian's package, and the usual places of torchvision and Keras; gzip or raw. With
    `download` missing files are downloaded to `data_dir`, $ONEGRAD_DATA or the cache.
    """
    if data_dir is not None:
        path_of("data_dir", data_dir)
    truth("download", download)
    for folder in _places(data_dir):
        images = _read_folder(folder)
        if images is not None:
            return images
    if download:
        download_fashion_mnist(data_dir)
        return load_fashion_mnist(data_dir)
    field = "file='fashion-mnist'" if data_dir is None else f"data_dir={str(data_dir)!r}"
    where = ", ".join(map(str, _places(data_dir)))
    remedy = "install the Debian package dataset-fashion-mnist"
    if data_dir is None and os.environ.get(VARIABLE):
        where, remedy = f"{where}, the only places with {VARIABLE} set", f"unset {VARIABLE}"
    raise DataNotFound(
        f"{field}: the images are in none of {where}; {remedy}, or download them with onegrad "
        "fetch (in Python, download=True)"
    )


def download_fashion_mnist(
    data_dir: str | Path | None = None, *, progress: Progress | None = None
) -> None:
    """Download the files that the folder lacks; each is written once it is whole."""
    folder = _download_folder(data_dir)
    make_folder(folder, field="data_dir")
    for name in FILES:
        if _file_in(folder, name) is None:
            _download(name, folder, progress or (lambda name, done, total: None))


def fashion_mnist_folder(data_dir: str | Path | None = None) -> Path | None:
    """Return the first place that has all files, without reading them; None if no place has."""
    return next((folder for folder in _places(data_dir) if _files_in(folder) is not None), None)


def load_sample() -> LabelledImages:
    """Return the first 1,200 training images of the classes 0, 1, 5 and 9; they ship with onegrad.

    Fashion-MNIST, Copyright (c) 2017 Zalando SE, MIT licence.
    """
    try:
        with (
            resources.files("onegrad.data").joinpath(SAMPLE).open("rb") as file,
            np.load(file, allow_pickle=False) as stored,
        ):
            images, labels = stored["images"], stored["labels"]
        whole = digest_of_bytes(images, labels) == SAMPLE_DIGEST
    except (OSError, ValueError, EOFError, KeyError, BadZipFile, zlib.error):
        whole = False
    if not whole:
        raise InvalidInput(
            f"file='fashion-mnist-sample': {SAMPLE} is missing or damaged; install onegrad again "
            "(pip install --force-reinstall --no-deps onegrad)"
        )
    return LabelledImages(images, labels)


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:  # HOME is not set, and the user is not in the list of users
        return None


def _cache_folder() -> Path | None:
    """Return the user's cache for downloaded data; None if the user has no home folder."""
    if os.environ.get("XDG_CACHE_HOME"):
        base = Path(os.environ["XDG_CACHE_HOME"])
    elif sys.platform == "win32" and os.environ.get("LOCALAPPDATA"):
        base = Path(os.environ["LOCALAPPDATA"])
    elif home := _home():
        usual = {"darwin": ("Library", "Caches"), "win32": ("AppData", "Local")}
        base = home.joinpath(*usual.get(sys.platform, (".cache",)))
    else:
        return None
    return base / "onegrad" / "fashion-mnist"


def _download_folder(data_dir: str | Path | None) -> Path:
    if data_dir is not None:
        return Path(data_dir)
    if os.environ.get(VARIABLE):
        return Path(os.environ[VARIABLE]) / "fashion-mnist"
    cache = _cache_folder()
    if cache is None:
        raise InvalidInput(
            f"data_dir=None: there is no home folder to download to; name a folder (--data-dir), "
            f"or set {VARIABLE}"
        )
    return cache


def _places(data_dir: str | Path | None) -> Iterator[Path]:
    """Yield the folders to search: the one that was named, or all usual ones."""
    if data_dir is not None:
        yield Path(data_dir)
        return
    if os.environ.get(VARIABLE):
        yield Path(os.environ[VARIABLE])
        yield Path(os.environ[VARIABLE]) / "fashion-mnist"
        return
    if cache := _cache_folder():
        yield cache
    yield PACKAGED
    home = _home()
    for base in (Path("data"), *([home / "data"] if home else [])):
        yield base / "FashionMNIST" / "raw"  # torchvision
    if home:
        yield home / ".keras" / "datasets" / "fashion-mnist"


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
    """Return where a folder has the files; None if one is missing."""
    places = {name: place for name in FILES if (place := _file_in(folder, name)) is not None}
    return places if len(places) == len(FILES) else None


def _file_in(folder: Path, name: str) -> Path | None:
    """Return where a folder has a file, raw or gzip; None if it has not, or may not be read."""
    return next((p for p in (folder / name, folder / f"{name}.gz") if os.path.isfile(p)), None)  # noqa: PTH113


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


def _download(name: str, folder: Path, progress: Progress) -> None:
    """Write one file from the first mirror that has it whole; a part of it is never written."""
    reasons = []
    for mirror in MIRRORS:
        try:
            data = _received(f"{mirror}{name}.gz", lambda *done: progress(name, *done))
        except (OSError, ValueError, HTTPException) as error:
            reasons.append(" ".join(str(error).split()) or type(error).__name__)
            continue
        plain = _decompressed(data)
        if plain is not None and digest_of_bytes(plain) == FILES[name]:
            replace_file(folder / f"{name}.gz", lambda path, data=data: path.write_bytes(data))  # type: ignore[misc]
            return
        reasons.append("the digest differs")
    raise Failure(
        f"download: no mirror gave {name} ({'; '.join(dict.fromkeys(reasons))}); try again, or "
        "install the Debian package dataset-fashion-mnist"
    )


def _received(address: str, progress: Callable[[int, int], None]) -> bytes:
    """Return the answer's bytes; urllib uses the proxies of the environment."""
    data = bytearray()
    with urllib.request.urlopen(address, timeout=TIMEOUT) as answer:
        total = int(answer.headers.get("Content-Length") or 0)
        progress(0, total)
        while piece := answer.read(PIECE):
            data += piece
            progress(len(data), total)
    if len(data) < total:
        raise OSError(f"the connection ended after {len(data):,} of {total:,} bytes")
    return bytes(data)
