"""The doors through which users add their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import onegrad as og
from onegrad.core.models import TrainedNetwork
from onegrad.papers.panel import Study
from onegrad.papers.panel_registry import KINDS, PANELS
from own_losses import PlainLogistic
from public_doors import Door


def register_doors() -> dict[str, Door]:
    """Return the doors through which users add their own."""
    panel = PANELS["1a"]
    named = ("door_check", "word")

    class OwnSource(og.MixtureSource):
        kind: Any = "door_check"

    class OwnTeacher(og.SingleIndex):
        kind: Any = "door_check"

    argument = (None, "none word nothing null long")
    return {
        "register_function": Door(
            og.register_function,
            {
                "name": named,
                "function": (np.tanh, ""),
                "derivative": (None, "none"),
                "kinks": ((), "negative zero half list empty_array"),
            },
        ),
        "register_model": Door(
            og.register_model,
            {"name": named, "make": (TrainedNetwork, ""), "argument": argument},
        ),
        "register_rule": Door(
            og.register_rule,
            {"name": named, "make": (_same, ""), "argument": (None, "none")},
        ),
        "register_loss": Door(
            og.register_loss, {"name": named, "make": (PlainLogistic, ""), "argument": argument}
        ),
        "register_source": Door(og.register_source, {"description": (OwnSource, "")}),
        "register_teacher": Door(og.register_teacher, {"description": (OwnTeacher, "")}),
        "register_panel_kind": Door(
            og.register_panel_kind, {"name": named, "kind": (KINDS["curves"], "")}
        ),
        "register_panel": Door(
            lambda panel, study: og.register_panel(panel, study),
            {
                "panel": (_renamed(panel), ""),
                "study": (Study({"scaling.strength": (0.2, 0.4)}), ""),
            },
        ),
    }


def _same(gradient: Any, inputs: Any) -> Any:
    return gradient


def _renamed(panel: Any) -> Any:
    return replace(panel, name="door_check", study="door_check")
