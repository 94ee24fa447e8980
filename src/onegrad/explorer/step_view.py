"""What the step did to the first layer: the spectrum of F̂ and its overlap with the teacher.

By the law of the step where theory without draws knows the problem; else from one drawn step.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from onegrad.calculus.spectra import spectrum
from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import Failure
from onegrad.diagnostics.alignment import watched_directions
from onegrad.explorer.curve_points import CLOSED
from onegrad.explorer.values import value_at
from onegrad.problem.problem import Problem
from onegrad.theory.closed.closed_errors import ClosedTheory
from onegrad.theory.closed.neuron_types import NeuronTypes
from onegrad.training.instance import draw
from onegrad.training.run import finished_run
from onegrad.verbs.closed_setting import closed_problem

DRAWN = "drawn"
CURVE_POINTS = 60
MOST_ENTRIES = 4_000_000  # of F̂, for the singular values of a drawn one
MOST_SPIKES = 8


@dataclass(frozen=True)
class LayerSpectrum:
    """The singular values of F̂, its bulk and what stands out, and the overlap with the teacher."""

    bulk: tuple[float, float]
    spikes: list[float]
    density: tuple[Floats, Floats]
    overlap: float | None
    noise: float | None = None


def step_view(problem: Problem, method: str) -> dict[str, Any]:
    """Return what the step did as numbers with a sentence each, a spectrum, and an overlap."""
    layer = _by_law(problem) if method == CLOSED else _drawn(problem)
    low, high = layer.bulk
    x, y = layer.density
    top = max(layer.spikes, default=high)
    return {
        "numbers": _numbers(problem, layer, top),
        "spectrum": {
            "bulk": [_digits(low), _digits(high)],
            "spikes": [_digits(s) for s in layer.spikes],
            "density": {"x": [_digits(v) for v in x], "y": [_digits(v) for v in y]},
            "symbol": "s(F̂)",
            "sentence": _spectrum_sentence(layer, top),
        },
        "overlap": _overlap(layer),
        "method": method,
    }


def _by_law(problem: Problem) -> LayerSpectrum:
    """Return the layer by the law of the step.

    Rows of F̂ have a part ℓ in few directions and spread evenly over the others, with variance v
    in each. A direction of E ℓ² = v + s²/k gives the singular value √((s² + kv)(s² + nv))/s, and
    its right vector has cos² = 1 − nv(kv + s²)/(s²(s² + nv)) with that direction, where
    s² > v√(kn): else it stays in the bulk √v(√n ± √k) (Benaych-Georges and Nadakuditi, 2012).
    """
    setting = closed_problem(problem, draft=True).settings[0].setting
    types = ClosedTheory(setting).types("trained").neurons
    k, n = setting.neurons, setting.dimension
    v = types.bulk_variance / types.frame.bulk
    values, vectors = np.linalg.eigh(types.load)
    signal = np.maximum(k * (values[::-1] - v), 0.0)
    vectors = vectors[:, ::-1]
    out = signal > v * sqrt(k * n)
    s2 = signal[out]
    spikes = np.sqrt((s2 + k * v) * (s2 + n * v) / s2)
    bulk = (sqrt(v) * abs(sqrt(n) - sqrt(k)), sqrt(v) * (sqrt(n) + sqrt(k)))
    cosines = np.sqrt(np.maximum(1 - n * v * (k * v + s2) / (s2 * (s2 + n * v)), 0.0))
    overlap = _teacher_overlap(types, vectors[:, out], cosines)
    return LayerSpectrum(
        bulk, spikes[:MOST_SPIKES].tolist(), _bulk_density(bulk), overlap, types.step_noise
    )


def _teacher_overlap(types: NeuronTypes, vectors: Floats, cosines: Floats) -> float | None:
    """Return |cos| of the leading right singular vector with ξ; None without a direction."""
    frame = types.frame
    length = sqrt(float(frame.reads @ frame.reads) + frame.reads_off**2)
    if length == 0:
        return None
    if not len(cosines):
        return 0.0
    return float(abs(vectors[:, 0] @ frame.reads) / length * cosines[0])


def _bulk_density(bulk: tuple[float, float]) -> tuple[Floats, Floats]:
    """Return the law of Marchenko and Pastur for singular values, its area 1."""
    low, high = bulk
    angle = np.linspace(0, np.pi, CURVE_POINTS)
    x = (low + high) / 2 - (high - low) / 2 * np.cos(angle)
    with np.errstate(all="ignore"):
        y = np.sqrt(np.maximum((high**2 - x**2) * (x**2 - low**2), 0.0)) / x
    y = np.where(np.isfinite(y), y, 0.0)
    area = float(np.trapezoid(y, x))
    return x, y / area if area > 0 else y


def _drawn(problem: Problem) -> LayerSpectrum:
    """Return the layer of one drawn network after its steps."""
    if problem.width * problem.dimension > MOST_ENTRIES:
        raise Failure(
            f"width={problem.width}: F̂ has more than {MOST_ENTRIES:.0e} entries, too many to draw "
            "here; lower width or dimension"
        )
    run = finished_run(draw(problem, seed=0))
    first = np.asarray(run.first, float)
    _, values, right = np.linalg.svd(first, full_matrices=False)
    seen = spectrum(values[:40])
    count = min(seen.count or 0, MOST_SPIKES)
    rest = values[count:]
    heights, edges = np.histogram(rest, bins=30, density=True)
    directions = watched_directions(run.instance_at(problem.training.steps))
    overlap = None
    if directions.shape[1] and problem.teacher.kind != "labels":
        units = directions / np.linalg.norm(directions, axis=0)
        overlap = float(np.linalg.norm(right[0] @ np.linalg.qr(units)[0]))
    middles = (edges[1:] + edges[:-1]) / 2
    bulk = (float(rest[-1]), float(rest[0]))
    return LayerSpectrum(bulk, values[:count].tolist(), (middles, heights), overlap)


def _numbers(problem: Problem, layer: LayerSpectrum, top: float) -> list[dict[str, Any]]:
    """Return the numbers of a step, each with label, symbol and sentence."""
    rate, spread = (value_at(problem, f"scaling.{name}") for name in ("learning_rate", "spread"))
    said = [
        ("Learning rate", "η", rate, "How far the step goes along the gradient."),
        ("Data spread", "θ", spread, "How far the data stretch along their strong directions."),
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
        (
            "Noise of the step",
            "",
            layer.noise,
            "What the step adds at random, over the initial weights, squared.",
        ),
    ]
    return [
        {"label": label, "symbol": symbol, "value": _digits(value), "sentence": sentence}
        for label, symbol, value, sentence in said
        if value is not None
    ]


def _spectrum_sentence(layer: LayerSpectrum, top: float) -> str:
    if not layer.spikes:
        return "No direction stands out: the first layer still looks random."
    count = len(layer.spikes)
    noun = "direction stands" if count == 1 else "directions stand"
    return (
        f"{count} {noun} out of the random bulk, the first {top / layer.bulk[1]:.2g} times as far "
        "as its edge."
    )


def _overlap(layer: LayerSpectrum) -> dict[str, Any] | None:
    if layer.overlap is None:
        return None
    share = min(max(layer.overlap, 0.0), 1.0)
    words = (
        "The step has found the teacher's direction."
        if share > 0.9
        else "The step points partly at the teacher."
        if share > 0.3
        else "The step has hardly seen the teacher."
    )
    return {"value": _digits(share), "label": "Overlap with the teacher", "sentence": words}


def _digits(value: float) -> float:
    return float(f"{value:.5g}")
