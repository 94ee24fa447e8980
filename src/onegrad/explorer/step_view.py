"""What the step did to the first layer, as numbers with a sentence each and a picture."""

from __future__ import annotations

from typing import Any

from onegrad.explorer.curves import CLOSED
from onegrad.explorer.layer_spectrum import LayerSpectrum, drawn_layer, layer_by_law
from onegrad.explorer.state import value_at
from onegrad.problem.problem import Problem

DRAWN = "drawn"
FOUND, SEEN = 0.9, 0.3  # |cos| from which a direction is called the teacher's, or near it


def step_view(problem: Problem, method: str) -> dict[str, Any]:
    """Return what the step did: overlaps with the teacher, numbers, and a spectrum."""
    layer = layer_by_law(problem) if method == CLOSED else drawn_layer(problem)
    low, high = layer.bulk
    x, y = layer.density
    top = max(layer.spikes, default=high)
    return {
        "overlaps": _overlaps(layer),
        "numbers": _numbers(problem, layer, top),
        "spectrum": {
            "bulk": [_digits(low), _digits(high)],
            "spikes": [_digits(s) for s in layer.spikes],
            "density": {"x": [_digits(v) for v in x], "y": [_digits(v) for v in y]},
            "symbol": "s(F̂)",
            "sentence": _spectrum_sentence(layer, top),
        },
        "method": method,
    }


def _overlaps(layer: LayerSpectrum) -> list[dict[str, Any]]:
    """Return where the step points, and where the layer does after it; none without a direction."""
    said = [
        (
            "Step's overlap with the teacher",
            layer.aim,
            (
                "The step points at the teacher's direction.",
                "The step points partly at the teacher's direction.",
                "The step points elsewhere: it has hardly seen the teacher.",
            ),
        ),
        (
            "First layer's overlap with the teacher",
            layer.overlap,
            (
                "After the step the layer's leading direction is the teacher's.",
                "After the step the layer's leading direction is partly the teacher's.",
                "After the step the layer's leading direction is still a random one.",
            ),
        ),
    ]
    return [
        {
            "label": label,
            "value": _digits(min(value, 1.0)),
            "sentence": words[0 if value > FOUND else 1 if value > SEEN else 2],
        }
        for label, value, words in said
        if value is not None
    ]


def _numbers(problem: Problem, layer: LayerSpectrum, top: float) -> list[dict[str, Any]]:
    """Return the numbers of a step, each with label, symbol and sentence."""
    rate, spread = (value_at(problem, f"scaling.{name}") for name in ("learning_rate", "spread"))
    said = [
        ("Learning rate", "η", rate, "How far the step goes along the gradient."),
        ("Data spread", "θ", spread, "How far the data stretch along their strong directions."),
        (
            "Change of the weights",
            "‖ΔF‖/‖F‖",
            layer.change,
            "How far the step moved the first layer, beside its length before.",
        ),
        (
            "Leading value over the bulk",
            "s₁/edge",
            top / layer.bulk[1] if layer.bulk[1] else None,
            "Above 1 one direction of the first layer stands out of the random rest.",
        ),
        (
            "Directions that stand out",
            "",
            len(layer.spikes),
            "Singular values of the first layer beyond the random bulk.",
        ),
    ]
    return [
        {"label": label, "symbol": symbol, "value": _digits(value), "sentence": sentence}
        for label, symbol, value, sentence in said
        if value is not None
    ]


def _spectrum_sentence(layer: LayerSpectrum, top: float) -> str:
    if not layer.spikes:
        share = f"{100 * layer.change:.2g} %"
        return (
            "No direction stands out: the step moved the weights by "
            f"{share}, too little to show beside their random part."
        )
    count = len(layer.spikes)
    noun = "direction stands" if count == 1 else "directions stand"
    return (
        f"{count} {noun} out of the random bulk, the first {top / layer.bulk[1]:.2g} times as far "
        "as its edge."
    )


def _digits(value: float) -> float:
    return float(f"{value:.5g}")
