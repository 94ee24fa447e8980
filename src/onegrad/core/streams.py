"""Independent random streams: what a trial draws depends on (seed, trial) and the stream alone.

Nothing that one stream draws moves another, so widths, activations and models share their data
(common random numbers), and a trial is the same alone, in any order, on any worker.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

import numpy as np

# Part of every stored row's key: raise it when a change alters any number that a trial returns.
NUMERICS = 8


class Stream(IntEnum):
    """The sources of randomness of one trial. Numbers are part of the results: never reorder."""

    MIXTURE = 0
    TEACHER = 1
    STEP_DATA = 2
    TRAINING_DATA = 3
    TEST_DATA = 4
    FIRST_LAYER = 5
    SECOND_LAYER = 6
    MODEL_NOISE = 7


NETWORK_STREAMS = {Stream.FIRST_LAYER, Stream.SECOND_LAYER, Stream.MODEL_NOISE}


@dataclass(frozen=True)
class Streams:
    """The generators of one trial.

    With redraw = "network" data and teacher stay those of trial 0.
    """

    seed: int
    trial: int
    redraw: Literal["all", "network"] = "all"

    def key(self, stream: Stream) -> tuple[int, int, int]:
        """Return (seed, trial, stream) that determines what the stream draws."""
        fixed = self.redraw == "network" and stream not in NETWORK_STREAMS
        return self.seed, 0 if fixed else self.trial, int(stream)

    def generator(self, stream: Stream, *labels: str) -> np.random.Generator:
        """Return a fresh generator at the start of the stream, one more per distinct labels."""
        seed, trial, number = self.key(stream)
        named = tuple(zlib.crc32(label.encode()) for label in labels)
        return np.random.default_rng(
            np.random.SeedSequence(seed, spawn_key=(trial, number, *named))
        )
