"""What goes wrong, in one line: bad input, work that cannot be finished."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class InvalidInput(ValueError):
    """An input that breaks a rule; the message is one line that names the remedy."""


class Failure(RuntimeError):
    """A run that cannot give what was asked of it; the message is one line."""


class NotConverged(Failure):
    """An iteration did not reach its fixed point; the message says how far it is."""


def require_finite(model: str, metrics: Mapping[str, Any]) -> None:
    """Raise InvalidInput when one of a model's metrics overflowed."""
    import numpy as np  # late: the command line imports this module

    for name, values in metrics.items():
        if not np.all(np.isfinite(values)):
            raise InvalidInput(
                f"{name} of {model}: is not finite; bring learning rate, spread, levels, means, "
                "noise and norms nearer to 1"
            )
