"""A coordinate of samples or of neurons: how many nodes stand for it, and where.

The strength of a coordinate is the deviation that it causes in pre-activations over that of the
bulk: the stronger it is, the more nodes it needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np

from onegrad.calculus.normal_rules import Rule, normal_rule, panel_rule, split_normal_rule

NODES = ((0.06, 2), (0.12, 3), (0.4, 5), (0.75, 7), (1.0, 9), (np.inf, 13))
SIDED = ((0.15, 3), (0.5, 4), (1.2, 6), (np.inf, 8))  # on each side of a cut
MODERATE = 0.35  # strength up to which two nodes are left where there is little room
GRADED, GRADED_REACH = 2.0, 1.5  # strength from which nodes are graded, and their reach times it
GRADED_RATIO = 1.15
SHARP, SHARP_REACH, SHARP_NODES = 10, (0.15, 0.8), 3  # about a change of sign, on each side
FAINT, ALIKE = 0.08, 1.5  # strengths up to which a sign is enough, and a rule of degree 7

Panels = tuple[tuple[float, ...], tuple[int, ...]]  # cuts, and nodes between them


@dataclass(frozen=True)
class Coordinate:
    """A standard normal coordinate; `cut` is where what depends on it has a kink, if it has."""

    strength: float
    cut: float | None = None
    least: int = 0  # nodes, where the strength would ask for fewer
    read: bool = False  # whether the label reads it
    sharp: bool = False  # whether labels change their sign at the cut
    wanted: int = 0  # nodes, where there is room

    @property
    def count(self) -> int:
        """Nodes, on each side where there is a cut."""
        table = NODES if self.cut is None else SIDED
        usual = next(nodes for limit, nodes in table if self.strength < limit)
        return max(self.least, self.wanted, usual, SHARP if self.sharp else 0)

    @property
    def is_faint(self) -> bool:
        """Whether a sign stands for it."""
        return not self.read and self.cut is None and self.least == 0 and self.strength < FAINT

    @property
    def is_alike(self) -> bool:
        """Whether it may share directions with others: neither faint nor very strong nor read."""
        return not self.read and not self.is_faint and self.strength < ALIKE

    @property
    def fewest(self) -> int:
        """Nodes that are left where there is little room, on each side of a cut."""
        if self.read:
            return max(self.least, 3)
        return 2 if self.cut is not None or self.strength < MODERATE else 3

    @property
    def fewest_total(self) -> int:
        """Nodes in all that are left where there is little room."""
        return self.fewest if self.cut is None else 2 * self.fewest

    @property
    def total(self) -> int:
        """Nodes in all."""
        return self.count if self.cut is None else 2 * self.count

    def rule(self, count: int) -> Rule:
        """Return the rule with so many nodes, on each side where there is a cut."""
        return panelled(self.panels(count))

    def panels(self, count: int) -> Panels:
        """Return where the rule of so many nodes, on each side of a cut, is cut, and its nodes.

        A very strong coordinate bends features near its cut: part of the nodes lie there. So they
        do where labels change their sign: most wrong ones are close to it, the closer the fewer.
        """
        if self.cut is None:
            return (), (count,)
        if self.sharp and count >= SHARP:
            sides = (count - 2 * SHARP_NODES, SHARP_NODES, SHARP_NODES)
            above = tuple(self.cut + reach for reach in SHARP_REACH)
            below = tuple(self.cut - reach for reach in reversed(SHARP_REACH))
            return (*below, self.cut, *above), (*sides, *reversed(sides))
        if self.strength < GRADED:
            return (self.cut,), (count, count)
        near = max(1, 2 * count // 5)
        # Of few sizes, so that rules are made once.
        reach = GRADED_REACH / GRADED_RATIO ** round(log(self.strength, GRADED_RATIO))
        cuts = (self.cut - reach, self.cut, self.cut + reach)
        return cuts, (count - near, near, near, count - near)


def panelled(panels: Panels) -> Rule:
    """Return the rule with these cuts and nodes."""
    cuts, counts = panels
    if not cuts:
        return normal_rule(counts[0])
    if len(cuts) == 1:
        return split_normal_rule(counts[0], cuts[0])
    return panel_rule(cuts, counts)
