"""The law of the step: where it moves the neurons in S, and what noise it leaves off S.

docs/closed.md derives it; docs/notation.md has a name for every letter, and says where that page
uses another. v̂ is the step's direction off the spikes and means, a mixture of the teacher's ξ̂ and
of sampling noise ν̂; e completes the plane of both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onegrad.describe.arrays import Floats
from onegrad.theory.closed.initial_types import InitialFeatures, InitialTypes
from onegrad.theory.closed.setting import ClosedSetting

SMALLEST_PULL = 1e-300


@dataclass(frozen=True)
class StepLaw:
    """What one step does, per unit of om = (η/k)ω.

    In S, which is now (spikes and means, v̂, e): ℓ = om·pull + W(om)x + om·bend, x ~ N(0, I), with
    WWᵀ = fr²(I + om·slope)(I + om·slope)ᵀ + om²·noise. Off S: q² = c²N fr² + om²·bulk_noise with
    c = 1 + om(scale + scale_along·x_v·fr).
    """

    pull: Floats  # g_0, d + 2
    slope: Floats  # M
    noise: Floats  # Σ_n
    bend: Floats  # G(s) − G_0 − Js, initial types × spikes and means
    scale: Floats  # per initial type
    scale_along: float
    bulk_noise: Floats  # V_t, per initial type
    cosine: float  # of v̂ with ξ̂
    second: float  # l·ς̄_2 averaged over samples


def step_law(setting: ClosedSetting, types: InitialTypes, features: InitialFeatures) -> StepLaw:
    """Return the law of the step."""
    samples, y, r2 = features.samples, features.label, features.square
    p, level, kappa = samples.weights, samples.level, samples.points
    b1, b2 = features.mean_first, features.mean_second
    ratio = setting.frame.bulk / setting.step_samples  # φ
    population = (features.first * (p * y(1))[:, None]).T @ kappa  # G(s), types × d
    mean = types.weights @ population  # G_0
    spread = p @ ((r2 * b1**2)[:, None] * kappa**2) - mean**2
    rms = np.sqrt(mean**2 + np.maximum(spread, 0.0) / setting.step_samples)
    teacher = float(p @ (y(1, 1) * np.sqrt(level) * b1))  # A_ξ
    sampling = float(np.sqrt(ratio * (p @ (r2 * level * b1**2))))  # A_ν
    length = float(np.hypot(teacher, sampling))
    cosine = teacher / length if length > 0 else 0.0
    tilt = ratio * level * b1 / max(sampling, SMALLEST_PULL)
    slope, second, first = _plane(features, cosine, tilt)
    along = _linear(features, (cosine, np.sqrt(max(1 - cosine**2, 0.0))), tilt, 1)  # E[r x_v | s]
    linear = (population * types.weights[:, None]).T @ types.places / setting.entry  # J
    slope[: len(mean), : len(mean)] = linear
    power = float(p @ (level * b1**2 * r2))
    lost = np.outer(first, first) / power if power > 0 else 0.0
    noise = second / setting.step_samples - setting.row_variance * ratio * lost
    base = float(p @ (r2 * level * b1**2))
    return StepLaw(
        np.concatenate([np.where(mean < 0, -rms, rms), [length, 0.0]]),
        slope,
        noise,
        population - mean - setting.entry * types.places @ linear.T,
        (p * y(1) * level) @ features.second,
        float(p @ (level * features.mean_third * along)),
        np.maximum(ratio * ((p * r2 * level) @ features.slope_square - base), 0.0),
        cosine,
        float(p @ (level * b2)),
    )


def _plane(features: InitialFeatures, cosine: float, tilt: Floats) -> tuple[Floats, Floats, Floats]:
    """Return M, Σ p(Eσ'² − ς̄_1²)E[r² x xᵀ] and Σ p l ς̄_1ς̄_2 E[r² x] in S, v̂ and e included.

    ν̂ᵀx = r·tilt + noise within the batch, tilt = φ l ς̄_1/A_ν; x_v = cos √l z + sin ν̂ᵀx and
    x_e = sin √l z − cos ν̂ᵀx.
    """
    samples = features.samples
    p, level, kappa = samples.weights, samples.level, samples.points
    b1, b2 = features.mean_first, features.mean_second
    d = kappa.shape[1]
    sine = np.sqrt(max(1 - cosine**2, 0.0))
    places = ((cosine, sine), (sine, -cosine))  # of v̂ and e along ξ̂ and ν̂
    uneven = p * (features.mean_slope_square - b1**2)
    slope, second = np.zeros((d + 2, d + 2)), np.zeros((d + 2, d + 2))
    first = np.zeros(d + 2)
    second[:d, :d] = (kappa * (uneven * features.square)[:, None]).T @ kappa
    first[:d] = (p * level * b1 * b2 * features.square) @ kappa
    for i, own in enumerate(places):
        once = _linear(features, own, tilt, 1)
        twice = _linear(features, own, tilt, 2)
        slope[:d, d + i] = slope[d + i, :d] = (p * b2 * once) @ kappa
        second[:d, d + i] = second[d + i, :d] = (uneven * twice) @ kappa
        first[d + i] = p @ (level * b1 * b2 * twice)
        for j, other in enumerate(places[: i + 1]):
            once_each = p @ (b2 * _quadratic(features, own, other, tilt, 1))
            twice_each = uneven @ _quadratic(features, own, other, tilt, 2)
            slope[d + i, d + j] = slope[d + j, d + i] = once_each
            second[d + i, d + j] = second[d + j, d + i] = twice_each
    return slope, second, first


def _linear(
    features: InitialFeatures, own: tuple[float, float], tilt: Floats, power: int
) -> Floats:
    """Return E[r^power x | s] along a direction with these parts along ξ̂ and ν̂."""
    y, root = features.label, np.sqrt(features.samples.level)
    return own[0] * root * y(power, 1) + own[1] * tilt * y(power + 1)


def _quadratic(
    features: InitialFeatures,
    own: tuple[float, float],
    other: tuple[float, float],
    tilt: Floats,
    power: int,
) -> Floats:
    """Return E[r^power x x' | s] along two directions of the plane."""
    y, level = features.label, features.samples.level
    crossed = own[0] * other[1] + own[1] * other[0]
    return (
        own[0] * other[0] * level * y(power, 2)
        + crossed * np.sqrt(level) * tilt * y(power + 1, 1)
        + own[1] * other[1] * (tilt**2 * y(power + 2) + level * y(power))
    )
