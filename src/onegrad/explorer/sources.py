"""Where a problem of the explorer starts: what it was opened with, and real data that are here."""

from __future__ import annotations

from typing import Any

from onegrad.data.rows.reading import is_here
from onegrad.describe.exceptions import InvalidInput
from onegrad.explorer.state import START, Bases
from onegrad.problem.problem import Problem

DEFAULT = "default"
DROPS = ("data", "teacher")  # changes that another source makes no sense of
# Problems on real data: what to call them, what to say, and their fields.
REAL: dict[str, dict[str, Any]] = {
    "digits": {
        "label": "Handwritten digits",
        "sentence": "Images of 3 and 8, 8 × 8 pixels; theory reads a mixture fitted to half of "
        "them.",
        "fields": {
            "data": {"kind": "empirical", "file": "digits", "classes": "3,8"},
            "training": {"samples": 40},
            "readout": {"samples": 60, "ridge": 1e-3},
            "test_samples": 60,
        },
    },
    "fashion_mnist": {
        "label": "Fashion-MNIST",
        "sentence": "Images of shirts and trousers, 28 × 28 pixels; theory reads a mixture fitted "
        "to half of them.",
        "fields": {
            "data": {
                "kind": "empirical",
                "file": "fashion-mnist",
                "classes": "0,1",
                "fit": {"components_per_class": 2, "rank": 20},
            },
            "training": {"samples": 300},
            "readout": {"samples": 300, "ridge": 1e-2},
            "test_samples": 1000,
        },
    },
}


def first_bases(problem: Problem) -> dict[str, Problem]:
    """Return the problem that the explorer was opened with, and the default beside another."""
    default = Problem()
    return {START: problem} if problem == default else {START: problem, DEFAULT: default}


def real_bases() -> dict[str, Problem]:
    """Return the problems on real data that this machine has; reading them takes seconds."""
    bases = {}
    for name, described in REAL.items():
        if is_here(described["fields"]["data"]["file"]):
            try:
                bases[name] = Problem(**described["fields"])
            except InvalidInput:  # a damaged copy: who asks for it by name is told
                continue
    return bases


def described_sources(bases: Bases) -> list[dict[str, Any]]:
    """Return name, label and sentence of every source, and what to forget when it is chosen."""
    said = {
        START: ("Gaussian mixture", "The problem that this page was opened with."),
        DEFAULT: ("Default mixture", "Two components with a spike each, and a ReLU teacher."),
        **{name: (own["label"], own["sentence"]) for name, own in REAL.items()},
    }
    if not bases[START].data.exact_moments:
        said[START] = ("Your data", "The data that this page was opened with.")
    return [
        {"name": name, "label": said[name][0], "sentence": said[name][1], "drops": list(DROPS)}
        for name in bases
    ]
