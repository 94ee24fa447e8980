"""What is said of the way in which real data are prepared."""

from __future__ import annotations

import warnings

from onegrad.problem.problem import Problem


def note_preparation(problem: Problem) -> None:
    """Warn where real data are prepared by the class of each row, test points included."""
    if getattr(problem.data, "reads_test_labels", False):
        centring = getattr(problem.data, "centring", "")
        how = "centring='class'" if centring == "class" else "equal_traces"
        warnings.warn(
            f"data.{how}: prepares a test point by its own class, which needs its label; for "
            "errors on new data use centring='midpoint' without equal_traces",
            stacklevel=3,
        )
