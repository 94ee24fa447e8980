"""The best constant predictor is drawn if it is near, and in the caption in any case."""

import numpy as np
import pandas as pd

from onegrad.papers.constant_predictor import (
    constant_words,
    near_constants,
)
from onegrad.papers.panel import WIDTH, Panel

PANEL = Panel("own", "own", "A caption.", "What it shows.", WIDTH)


def table_of(values, constants):
    lines = {"x": np.arange(len(values)), "value": values, "constant": constants}
    return pd.DataFrame(lines).assign(activation="relu")


def test_the_line_is_drawn_where_it_is_near_and_said_in_any_case():
    near = table_of([1.0, 2.0, 3.0], [2.5, 2.5, 2.5])
    (line,) = near_constants(PANEL, near, by="activation")
    assert line.colour == -1
    assert "has 2.5 (long dashes)" in constant_words(PANEL, near)
    far = table_of([1.0, 2.0, 3.0], [9.0, 9.0, 9.0])
    assert near_constants(PANEL, far, by="activation") == []
    assert "has 9 (beyond the picture)" in constant_words(PANEL, far)


def test_series_with_labels_of_their_own_have_lines_of_their_own():
    both = pd.concat(
        [table_of([1.0, 2.0], [1.5, 1.5]), table_of([1.0, 2.0], [2.0, 2.0]).assign(activation="b")]
    )
    assert [line.colour for line in near_constants(PANEL, both, by="activation")] == [0, 1]
