"""The document that the page is built from: controls, axes, models, metrics, presets, sources."""

from __future__ import annotations

from typing import Any

from onegrad import __version__
from onegrad.explorer.controls import controls_of, number_controls
from onegrad.explorer.metrics import METRICS
from onegrad.explorer.presets import known_presets
from onegrad.explorer.sources import described_sources
from onegrad.explorer.state import Bases, ExplorerState
from onegrad.models.model import MODELS
from onegrad.models.resolve import models_named as _models_named  # noqa: F401 (registers)


def explorer_document(state: ExplorerState, bases: Bases) -> dict[str, Any]:
    """Return everything that the page shows around its curves, for one state."""
    problem = state.problem
    controls = controls_of(problem, bases[state.base])
    axes = [
        {
            "path": control.path,
            "label": control.label,
            "symbol": control.symbol,
            "low": control.low,
            "high": control.high,
            "scale": control.scale,
            "main": control.main,
        }
        for control in number_controls(controls, problem)
    ]
    return {
        "controls": [control.to_dict() for control in controls],
        "axes": axes,
        "models": shown_models(),
        "metrics": METRICS,
        "presets": known_presets(bases),
        "sources": described_sources(bases),
        "state": {
            "problem": state.changes,
            "axis": state.axis,
            "models": list(state.models),
            "base": state.base,
        },
        "version": __version__,
    }


# What stands for a model's name; models without an entry show their name alone.
SAID = {
    "network": ("Network", "The two-layer network after its step."),
    "hermite": (
        "Hermite",
        "The same network with a polynomial in place of its activation, and noise for the rest.",
    ),
    "linear": ("Linear", "The Hermite model of degree 1: a linear model with noise."),
    "untrained": ("Untrained", "The network without the step: random features."),
    "conditional": (
        "Conditional",
        "Gaussian features with the network's means and covariances, given component and strong "
        "directions.",
    ),
}
DEGREES = list(range(1, 7))


def shown_models() -> list[dict[str, Any]]:
    """Return the models that a page offers: all that are known by name alone, and Hermite's."""
    offered = []
    for name in sorted(
        MODELS, key=lambda name: list(SAID).index(name) if name in SAID else len(SAID)
    ):
        family = MODELS[name]
        label, sentence = SAID.get(name, (name.replace("_", " ").capitalize(), ""))
        entry: dict[str, Any] = {"name": name, "label": label, "sentence": sentence}
        if name == "hermite":
            entry["degrees"] = DEGREES
        elif family.needs_argument:
            continue
        offered.append(entry)
    return offered
