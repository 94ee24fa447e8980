"""What a person reads of a sweep before it runs: what it will take."""

from __future__ import annotations

from onegrad.running.plan import Plan
from onegrad.verbs.foreseen import Foreseen


def announced(
    plan: Plan, workers: int, dask: str | None = None, *, beside: str = "", seconds: float = 0.0
) -> str:
    """Return what a run will take: trials, time and memory; `beside` them what takes `seconds`."""
    known = f", {plan.stored} stored already" if plan.stored else ""
    known += f" ({plan.failed} failed)" if plan.failed else ""
    what = f"{plan.total} trials in {len(plan.settings)} settings{known}{beside}"
    foreseen = Foreseen(what, plan.seconds + seconds, plan.bytes, shares=workers)
    return foreseen.said(workers, where=None if dask is None else "one Dask worker")
