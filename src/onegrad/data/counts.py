"""How many rows each part of a population gets, and the blocks in which they are made."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from onegrad.describe.arrays import Floats

GRANULE = 512  # rows per product; fixed, so that no result depends on how rows are chunked


def granules(counts: tuple[int, ...]) -> Iterator[tuple[int, int, int]]:
    """Yield (part, first row within the part, rows) for blocks of at most GRANULE rows."""
    for index, count in enumerate(counts):
        for start in range(0, count, GRANULE):
            yield index, start, min(GRANULE, count - start)


def exact_counts(weights: Floats, samples: int) -> tuple[int, ...]:
    """Return whole numbers near weights × samples that add up to samples (largest remainder)."""
    shares = np.asarray(weights) * samples
    counts = np.floor(shares + 1e-9).astype(int)
    order = np.argsort(-(shares - counts), kind="stable")
    counts[order[: samples - int(counts.sum())]] += 1
    return tuple(int(c) for c in counts)
