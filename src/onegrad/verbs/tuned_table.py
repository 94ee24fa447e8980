"""The table of a tuned problem: the best of what was evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onegrad.describe.said_numbers import with_error
from onegrad.describe.screen import ScreenTable
from onegrad.verbs.error_table import TITLES
from onegrad.verbs.methods import said_draws

if TYPE_CHECKING:
    from onegrad.verbs.tuned import Tuned

SHOWN = 10  # of the evaluated points


def tuned_table(tuned: Tuned) -> ScreenTable:
    """Return the ten best widths and rates with their penalties, and the best constant."""
    title = TITLES[tuned.metric]
    chosen = ", ".join(f"{name} = {value:.4g}" for name, value in tuned.values.items())
    caption = (
        f"best: {chosen}; predicted {title} {with_error(tuned.best, tuned.stderr)} by "
        f"{tuned.method}, {said_draws(tuned.method, tuned.draws, tuned.seed)}"
    )
    if len(tuned.curve) > SHOWN:
        caption += f"; the {SHOWN} best of {len(tuned.curve)} predictions"
    if np.isfinite(tuned.constant) and not tuned.best < tuned.constant:
        caption += "; none beats the best constant"
    if tuned.contrast is not None:
        caption += f"\n{tuned.contrast}"
    if tuned.check is not None:
        caption += f"\n{tuned.check}"
    rows = [
        (
            f"{row['width']}",
            f"{row['learning_rate']:.4g}",
            f"{row['ridge']:.2e}",
            f"{row[tuned.metric]:.5f}",
        )
        for row in tuned.closest(SHOWN).to_dict(orient="records")
    ]
    if np.isfinite(tuned.constant):
        rows.append(("best constant", "", "", f"{tuned.constant:.5f}"))
    return ScreenTable(
        ("width", "learning rate", "ridge", title),
        tuple(rows),
        title=f"Tuned: {chosen}; {tuned.metric} = {tuned.best:.4g}",
        caption=caption,
    )
