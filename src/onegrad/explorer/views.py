"""Views beside the curves: the first layer after the step, the map, the Hermite degrees."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any

import numpy as np

from onegrad.calculus.spectra import spectrum
from onegrad.closed.problem import ClosedProblem
from onegrad.closed.setting import ClosedSetting
from onegrad.closed.solve import ClosedTheory
from onegrad.closed.step import NeuronTypes, StepLaw, initial_features, initial_types, step_law
from onegrad.core.instance import draw, initialise
from onegrad.core.problem import Problem
from onegrad.core.run import finished_run
from onegrad.describe.exceptions import Failure, InvalidInput
from onegrad.describe.numbers import Floats
from onegrad.explorer.curves import (
    CLOSED,
    TYPES,
    CurvePoints,
    closed_refusal,
    points_along,
    relative_gap,
    together,
    unknown_to_closed,
)
from onegrad.explorer.state import ExplorerState, changed, value_at, whole_within
from onegrad.explorer.workers import Workers
from onegrad.verbs.observe import watched_directions

CURVE_POINTS = 60
MOST_ENTRIES = 4_000_000  # of F̂, for the singular values of a drawn one
MOST_SPIKES = 8
DRAWN = "drawn"
FOUND, SEEN = 0.9, 0.3  # |cos| from which a direction is called the teacher's, or near it
STEP_SENTENCES = (
    "The step points at the teacher's direction.",
    "The step points partly at the teacher's direction.",
    "The step points elsewhere: it has hardly seen the teacher.",
)
LAYER_SENTENCES = (
    "After the step the layer's leading direction is the teacher's.",
    "After the step the layer's leading direction is partly the teacher's.",
    "After the step the layer's leading direction is still a random one.",
)
ALPHA, BETA = "scaling.weighting", "scaling.strength"
LEAST_SIZE, MOST_SIZE = 3, 41
MAP, DEGREES = 30, 10  # urgencies
CHUNK = 3  # points of the map in one call, which a newer draft may wait for
LARGEST_STRENGTH = 0.98  # the theorem covers strengths below 1
DEGREE_RANGE = range(7)
TOLERANCE = 0.01


@dataclass(frozen=True)
class LayerSpectrum:
    """Bulk and outliers of F̂; |cos| of its and of the step's leading direction with ξ; ‖F̂−F‖/‖F‖.

    Without a direction of the teacher the cosines are None; without a step the second is.
    """

    bulk: tuple[float, float]
    spikes: list[float]
    density: tuple[Floats, Floats]
    overlap: float | None
    aim: float | None
    change: float


def layer_by_law(problem: Problem) -> LayerSpectrum:
    """Return the layer by the law of the step.

    Rows of F̂ have a part ℓ in few directions and spread evenly over the others, with variance v
    in each. A direction of E ℓ² = v + s²/k gives the singular value √((s² + kv)(s² + nv))/s, and
    its right vector has cos² = 1 − nv(kv + s²)/(s²(s² + nv)) with that direction, where
    s² > v√(kn): else it stays in the bulk √v(√n ± √k) (Benaych-Georges and Nadakuditi, 2012).
    """
    setting = ClosedProblem.of(problem, draft=True).settings[0][1]
    types = ClosedTheory(setting).types("trained").neurons
    initial = initial_types(setting, setting.most_neurons)
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
    law = step_law(setting, initial, initial_features(setting, initial))
    return LayerSpectrum(
        bulk,
        spikes[:MOST_SPIKES].tolist(),
        _bulk_density(bulk),
        _teacher_overlap(types, vectors[:, out], cosines),
        _aim(setting, law),
        _change(setting, law, types.step_noise),
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


def _aim(setting: ClosedSetting, law: StepLaw) -> float | None:
    """Return |cos| of the step's mean pull with ξ: all neurons move along it, by their weights."""
    frame, d = setting.frame, setting.frame.size
    length = sqrt(float(frame.reads @ frame.reads) + frame.reads_off**2)
    pull = float(np.linalg.norm(law.pull))
    if length == 0 or pull == 0 or setting.learning_rate == 0:
        return None
    along = law.pull[:d] @ frame.reads + law.pull[d] * law.cosine * frame.reads_off
    return float(abs(along) / (pull * length))


def _change(setting: ClosedSetting, law: StepLaw, noise: float) -> float:
    """Return ‖F̂ − F‖/‖F‖: by the mean pull, and by the noise of the step."""
    pulled = setting.step**2 * float(law.pull @ law.pull)
    return sqrt(pulled / (setting.dimension * setting.row_variance) + noise)


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


def drawn_layer(problem: Problem) -> LayerSpectrum:
    """Return the layer of one drawn network after its steps."""
    if problem.width * problem.dimension > MOST_ENTRIES:
        raise Failure(
            f"width={problem.width}: F̂ has more than {MOST_ENTRIES:.0e} entries, too many to draw "
            "here; lower width or dimension"
        )
    run = finished_run(draw(problem, seed=0))
    last = run.instance_at(problem.training.steps)
    first = np.asarray(run.first, float)
    before = np.asarray(initialise(run.instance).first, float)
    _, values, right = np.linalg.svd(first, full_matrices=False)
    count = min(spectrum(values[:40]).count or 0, MOST_SPIKES)
    rest = values[count:]
    heights, edges = np.histogram(rest, bins=30, density=True)
    directions = watched_directions(last)
    watched = bool(directions.shape[1]) and problem.teacher.kind != "labels"
    step = first - before
    return LayerSpectrum(
        (float(rest[-1]), float(rest[0])),
        values[:count].tolist(),
        ((edges[1:] + edges[:-1]) / 2, heights),
        float(np.linalg.norm(right[0] @ directions)) if watched else None,
        _drawn_aim(step, directions) if watched else None,
        float(np.linalg.norm(step) / np.linalg.norm(before)),
    )


def _drawn_aim(step: Floats, directions: Floats) -> float | None:
    """Return |cos| of the leading right singular vector of F̂ − F with the teacher's directions."""
    if not step.any():
        return None
    _, _, right = np.linalg.svd(step, full_matrices=False)
    return float(np.linalg.norm(right[0] @ directions))


def step_view(problem: Problem, method: str) -> dict[str, Any]:
    """Return the effect of the step: overlaps with the teacher, numbers, and a spectrum."""
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
    """Return the overlaps of step and layer with the teacher; empty if it has no direction."""
    return [
        {"label": label, "value": _digits(min(value, 1.0)), "sentence": sentences[_grade(value)]}
        for label, value, sentences in (
            ("Step's overlap with the teacher", layer.aim, STEP_SENTENCES),
            ("First layer's overlap with the teacher", layer.overlap, LAYER_SENTENCES),
        )
        if value is not None
    ]


def _grade(cosine: float) -> int:
    """Return 0 if a direction is the teacher's, 1 if partly, else 2."""
    return 0 if cosine > FOUND else 1 if cosine > SEEN else 2


def _numbers(problem: Problem, layer: LayerSpectrum, top: float) -> list[dict[str, Any]]:
    """Return the numbers of a step, each with label, symbol and sentence."""
    rate, spread = (value_at(problem, f"scaling.{name}") for name in ("learning_rate", "spread"))
    numbers = [
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
        for label, symbol, value, sentence in numbers
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


async def plane(workers: Workers, state: ExplorerState, size: Any) -> dict[str, Any]:
    """Return the relative gap of a model to the network over a grid of (α, β)."""
    whole_within("size", size, LEAST_SIZE, MOST_SIZE)
    model = _compared(state.models)
    refusal = closed_refusal(state.problem, ("network", model))
    if refusal is not None:
        raise InvalidInput(f"map: {unknown_to_closed(refusal)}; choose another setting")
    alpha = np.round(np.linspace(0, 1, size), 4).tolist()
    beta = np.round(np.linspace(0, LARGEST_STRENGTH, size), 4).tolist()
    problems = [changed(state.problem, {ALPHA: a, BETA: b}) for b in beta for a in alpha]
    parts = await together(
        [
            workers.call(
                points_along, problems[i : i + CHUNK], ("network", model), CLOSED, True, urgency=MAP
            )
            for i in range(0, len(problems), CHUNK)
        ]
    )
    gaps = [gap for part in parts for gap in _gaps(part, model)]
    at_problem = await workers.call(
        points_along, [state.problem], ("network", model), CLOSED, False, urgency=MAP
    )
    return {
        "alpha": alpha,
        "beta": beta,
        "values": [gaps[i : i + size] for i in range(0, len(gaps), size)],
        "name": _name(model),
        "models": ["network", model],
        "here": {
            "alpha": value_at(state.problem, ALPHA),
            "beta": value_at(state.problem, BETA),
            "gap": _gaps(at_problem, model)[0],
        },
        "paths": {"alpha": ALPHA, "beta": BETA},
        "method": CLOSED,
    }


def _compared(models: tuple[str, ...]) -> str:
    """Return the model that the map is about: linear if it is shown, else the first Hermite."""
    others = [name for name in models if name == "linear" or name.startswith("hermite")]
    return "linear" if "linear" in others or not others else others[0]


def _name(model: str) -> str:
    """Return a model's name in a sentence of the page."""
    degree = model.partition(":")[2]
    return f"the polynomial of degree {degree}" if degree else f"the {model} model"


def _gaps(points: CurvePoints, model: str) -> list[float | None]:
    if "network" not in points.curves or model not in points.curves:
        return [None] * len(points.flags)
    return relative_gap(points.curves["network"], points.curves[model])


async def degrees(workers: Workers, state: ExplorerState) -> dict[str, Any]:
    """Return the gap of every Hermite degree, the smallest one that is enough, and a sentence."""
    names = ("network", *(f"hermite:{d}" for d in DEGREE_RANGE))
    refusal = closed_refusal(state.problem, names)
    method = CLOSED if refusal is None else TYPES
    points = await workers.call(
        points_along, [state.problem], names, method, False, urgency=DEGREES
    )
    if not points.curves:
        reasons = points.flags[0] or ("degrees: have no theory here; change the setting",)
        raise InvalidInput(reasons[0])
    network = points.curves["network"]
    gaps = [relative_gap(network, points.curves[name])[0] for name in names[1:]]
    enough = [
        d for d, g in zip(DEGREE_RANGE, gaps, strict=True) if g is not None and abs(g) <= TOLERANCE
    ]
    smallest = min(enough, default=None)
    return {
        "degrees": list(DEGREE_RANGE),
        "gaps": gaps,
        "smallest": smallest,
        "tolerance": TOLERANCE,
        "sentence": _sentence(state.problem, gaps, smallest),
        "method": method,
        "notes": list(points.flags[0]),
    }


def _sentence(problem: Problem, gaps: list[float | None], smallest: int | None) -> str:
    """Return the gaps in words: the sufficient degree, the linear model, the theorem."""
    share = f"{TOLERANCE:.0%}".replace("%", " %")
    first = (
        f"No polynomial of degree up to {DEGREE_RANGE[-1]} comes within {share} of the network's "
        "test error."
        if smallest is None
        else f"Degree {smallest} is the smallest whose test error lies within {share} of the "
        "network's."
    )
    linear = gaps[list(DEGREE_RANGE).index(1)]
    if linear is not None and abs(linear) > TOLERANCE:
        more = "more" if linear > 0 else "less"
        first += f" The linear model makes {abs(linear):.1%} {more} error.".replace("%", " %")
    strength = value_at(problem, BETA)
    if strength is not None and strength < 1:
        theorem = max(1, ceil(strength / (1 - strength) - 1e-12))
        first += f" The theorem asks for degree {theorem} at β = {strength:.3g}."
    return first
