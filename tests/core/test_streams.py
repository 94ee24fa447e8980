"""Streams: no two of them draw the same numbers."""

import numpy as np

from conftest import small
from onegrad.core.instance import draw
from onegrad.core.streams import Stream, Streams


def test_every_stream_of_every_trial_draws_its_own_numbers():
    drawn = [
        Streams(seed, trial).generator(stream, *labels).standard_normal()
        for seed in range(3)
        for trial in range(10)
        for stream in Stream.__members__.values()  # two names of one number would count twice
        for labels in ((), ("labels",), ("step 2",), ("step 2", "labels"))
    ]
    assert len(set(drawn)) == len(drawn)


def test_the_noise_of_labels_is_independent_of_the_inputs():
    """Isotropic inputs show the numbers that they are made of; 4/√m is 4 standard errors."""
    m = 2000
    problem = small(
        data={"components": [{"rank": 0, "label": 1.0}]},
        teacher={"kind": "labels", "noise": 1.0},
        training={"samples": m, "steps": 2},
        readout__samples=m,
    )
    instance = draw(problem)
    for drawn in (instance.step_draw(1), instance.step_draw(2), instance.readout_draw(1)):
        batch = drawn.whole()
        noise, numbers = batch.labels - 1.0, batch.inputs.ravel()[:m]
        assert abs(np.mean(noise * numbers)) < 4 / np.sqrt(m)
        assert np.mean(noise * noise) > 0.5  # the control: the noise itself would be seen
