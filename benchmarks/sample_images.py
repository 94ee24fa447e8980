"""Write the images that ship with onegrad: the first 1,200 training images of four classes.

    python benchmarks/sample_images.py

Prints the digest that `load_sample` checks.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from onegrad.data import fashion_mnist
from onegrad.describe.files import digest_of_bytes

CLASSES = (0, 1, 5, 9)
PER_CLASS = 1200


def main() -> None:
    """Write the file beside the module that reads it."""
    full = fashion_mnist.load_fashion_mnist()  # the training set comes first
    rows = np.concatenate([np.flatnonzero(full.labels == c)[:PER_CLASS] for c in CLASSES])
    images, labels = full.images[rows], full.labels[rows]
    path = Path(fashion_mnist.__file__).with_name("fashion_mnist_sample.npz")
    np.savez_compressed(path, images=images, labels=labels)
    print(f"{path.name}: {path.stat().st_size:,} bytes, {digest_of_bytes(images, labels)}")


if __name__ == "__main__":
    main()
