"""The table of an equivalence: the gap of every Hermite degree, and how it decays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onegrad.describe.said_numbers import percent
from onegrad.describe.screen import ScreenTable
from onegrad.verbs.decay_fit import DecayFit
from onegrad.verbs.error_table import TITLES
from onegrad.verbs.methods import said_draws

if TYPE_CHECKING:
    from onegrad.verbs.equivalent_degrees import Equivalence


def equivalence_table(equivalence: Equivalence) -> ScreenTable:
    """Return a row per degree: its gap in every dimension, the decay, whether it matches."""
    sizes = equivalence.sizes or (equivalence,)
    gaps = [f"gap, n = {s.dimension}" if equivalence.sizes else "gap to network" for s in sizes]
    rows = []
    for place, degree in enumerate(equivalence.degrees):
        cells = [percent(size.gaps[place], size.stderrs[place]) for size in sizes]
        cells += [_power(equivalence.decay[place])] if equivalence.decay else []
        rows.append((f"{degree}", *cells, "yes" if equivalence.matches[place] else "no"))
    notes = [f"degree {fit.degree}: {fit.note}" for fit in equivalence.decay if fit.note]
    notes += [] if equivalence.reason is None else [equivalence.reason]
    return ScreenTable(
        ("degree", *gaps, *(["decay"] if equivalence.decay else []), "matches"),
        tuple(rows),
        title=f"Equivalence: n = {equivalence.dimension}, {equivalence.metric}",
        caption=_caption(equivalence),
        notes=tuple(notes),
    )


def _caption(equivalence: Equivalence) -> str:
    errors, smallest = equivalence.errors, equivalence.smallest
    at = f" at n = {equivalence.dimension}" if equivalence.sizes else ""
    return (
        f"smallest degree within {100 * equivalence.tolerance:g} %{at}: "
        f"{'none of these' if smallest is None else smallest}; the theorem's degree at "
        f"β = {equivalence.strength:.3g}: {equivalence.theorem or 'none, it covers β < 1'}; "
        f"{TITLES[equivalence.metric]} by {equivalence.method}, "
        f"{said_draws(equivalence.method, errors.trials, errors.seed)}, nothing trained"
    )


def _power(fit: DecayFit) -> str:
    """Return n^−p with its standard error."""
    if fit.exponent is None:
        return "not fitted"
    return f"n^{-fit.exponent:.2f} ± {fit.stderr:.2f}"
