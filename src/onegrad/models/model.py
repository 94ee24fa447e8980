"""Models by name."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Literal

from onegrad.calculus.expansion import LARGEST_DEGREE
from onegrad.describe.exceptions import InvalidInput


@dataclass(frozen=True)
class Model:
    """A model by name: which kind, which degree, and the first layer that it reads."""

    name: str
    kind: Literal["network", "hermite", "conditional"]
    degree: int | None = None
    first_layer: Literal["trained", "initial"] = "trained"

    @property
    def key(self) -> str:
        """What the model computes: equal keys give equal numbers, whatever the name."""
        degree = "" if self.degree is None else f":{self.degree}"
        return f"{self.kind}{degree}@{self.first_layer}"


MODEL_NAMES = ("network", "hermite", "hermite:DEGREE", "linear", "conditional", "untrained")


def parse_model(name: str, *, default_degree: int) -> Model:
    """Return the model of this name; "hermite" alone has the theorem's degree."""
    text = name.strip().lower()
    if text in ("network", "conditional"):
        return Model(text, "network" if text == "network" else "conditional")
    if text == "untrained":
        return Model(text, "network", first_layer="initial")
    if text == "linear":
        return Model(text, "hermite", 1)
    if text == "hermite":
        return Model(text, "hermite", default_degree)
    family, _, degree = text.partition(":")
    if family == "hermite" and degree.isdigit():
        if 0 <= int(degree) <= LARGEST_DEGREE:
            return Model(text, "hermite", int(degree))
        raise InvalidInput(
            f"models={name!r}: the degree must lie in [0, {LARGEST_DEGREE}], higher ones overflow "
            "where σ does not grow; lower it"
        )
    near = difflib.get_close_matches(text, MODEL_NAMES, n=1)
    hint = f"did you mean {near[0]!r}?" if near else "choose one"
    raise InvalidInput(f"models={name!r}: must be one of {', '.join(MODEL_NAMES)}; {hint}")
