"""The first layer after the step: its singular values, and where it and the step point.

By the law of the step where theory without draws knows the problem; else from one drawn step.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from onegrad.calculus.spectra import spectrum
from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import Failure
from onegrad.diagnostics.alignment import watched_directions
from onegrad.problem.problem import Problem
from onegrad.theory.closed.closed_errors import ClosedTheory
from onegrad.theory.closed.initial_types import initial_features, initial_types
from onegrad.theory.closed.neuron_types import NeuronTypes
from onegrad.theory.closed.setting import ClosedSetting
from onegrad.theory.closed.step_law import StepLaw, step_law
from onegrad.training.instance import draw
from onegrad.training.layers import initialise
from onegrad.training.run import finished_run
from onegrad.verbs.closed_setting import closed_problem

CURVE_POINTS = 60
MOST_ENTRIES = 4_000_000  # of F̂, for the singular values of a drawn one
MOST_SPIKES = 8


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
    law = _law_of_step(setting)
    return LayerSpectrum(
        bulk,
        spikes[:MOST_SPIKES].tolist(),
        _bulk_density(bulk),
        _teacher_overlap(types, vectors[:, out], cosines),
        _aim(setting, law),
        _change(setting, law, types.step_noise),
    )


def _law_of_step(setting: ClosedSetting) -> StepLaw:
    types = initial_types(setting, setting.most_neurons)
    return step_law(setting, types, initial_features(setting, types))


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
