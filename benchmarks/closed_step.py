"""The law of the step without draws, beside drawn first layers.

    python benchmarks/closed_step.py [--draws 16] [--dimension 500]

Every line compares a number of docs/closed.md with its mean over draws of F, w and the step's
batch. The drawn v̂ is that of the mean step over all neurons that could have been drawn,
(1/N) Σ r E_f[σ'(fᵀx)] x, off the spikes; e is the teacher's direction off spikes and v̂.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from onegrad import Problem
from onegrad.calculus import functions
from onegrad.calculus.expectations import smoothed_derivatives
from onegrad.closed.problem import ClosedProblem
from onegrad.closed.setting import ClosedSetting
from onegrad.closed.step import (
    BulkGroups,
    InitialFeatures,
    NeuronTypes,
    StepLaw,
    bulk_groups,
    initial_features,
    initial_types,
    step_law,
    trained,
)
from onegrad.core.instance import draw
from onegrad.core.run import Run

Floats = np.ndarray
NOTHING = 1e-9
CASES = {
    "relu, ξ random": {},
    "tanh, ξ random": {"network__activation": "tanh"},
    "relu, ξ along spikes": {"teacher__direction": "spikes"},
    "relu, N = n/4": {"few": True},
}


@dataclass(frozen=True)
class Predicted:
    """The law of the step and the types that follow from it."""

    setting: ClosedSetting
    features: InitialFeatures
    law: StepLaw
    types: NeuronTypes

    @property
    def groups(self) -> BulkGroups:
        """The groups of bulk directions."""
        ratio = self.types.frame.bulk / self.setting.step_samples
        return bulk_groups(self.features.residuals, 0.0, ratio)


@dataclass(frozen=True)
class Drawn:
    """One drawn step in coordinates: spikes, v̂ and e, and what is left."""

    om: Floats  # (η/k)ω of every neuron
    before: Floats  # neurons × directions, of F
    after: Floats  # of F̂
    off_before: Floats  # neurons × n, off the directions
    off_after: Floats
    pull: float  # length of the mean step off the spikes
    cosine: float  # of v̂ with ξ̂ off the spikes
    noise: Floats  # B = (1/N) Σ r² z zᵀ off the directions, n × n
    slope: Floats  # A = (1/N) Σ r z zᵀ


def problem_of(dimension: int, *, few: bool = False, **changes: object) -> Problem:
    """Return the problem at (β, α) = (1, 1), where the step's noise is as large as F."""
    problem = Problem(
        dimension=dimension,
        readout={"samples": dimension},
        network={"activation": "relu", "width": dimension},
        training={"samples": dimension // 4 if few else dimension},
        scaling={"strength": 1.0, "weighting": 1.0},
    )
    known = {name: value for name, value in changes.items() if value is not None}
    return problem.replace(**known)


def predicted(problem: Problem) -> Predicted:
    """Return the law without draws."""
    setting = ClosedProblem.of(problem).settings[0][1]
    types = initial_types(setting, 1200)
    features = initial_features(setting, types)
    return Predicted(setting, features, step_law(setting, types, features), trained(setting))


def drawn(problem: Problem, trial: int) -> Drawn:
    """Return one drawn step in the coordinates of the law."""
    instance = draw(problem, seed=0, trial=trial)
    run = Run(instance)
    first, second = run.layers.first, run.layers.second
    batch = instance.step_batch()
    after = run.advance().first
    sigma = functions.get_activation(problem.network.activation)
    entry = 1 / np.sqrt(instance.scales.trace)
    sizes = np.linalg.norm(batch.inputs, axis=1) * entry
    outputs = sigma(batch.inputs @ first.T) @ second / np.sqrt(len(second))
    residual = batch.labels - outputs
    slope = smoothed_derivatives(sigma, np.zeros_like(sizes), sizes, 1)[1]
    mean = (residual * slope) @ batch.inputs / len(sizes)
    spikes = np.linalg.qr(np.column_stack([g.directions for g in instance.mixture.components]))[0]
    mean -= spikes @ (spikes.T @ mean)
    teacher = np.ravel(instance.teacher.directions)
    teacher = teacher - spikes @ (spikes.T @ teacher)
    size = np.linalg.norm(teacher)
    kept = [spikes, mean, teacher] if size > NOTHING else [spikes, mean]
    columns = np.column_stack(kept)
    basis = np.linalg.qr(columns)[0]
    basis *= np.sign(np.sum(basis * columns, axis=0))
    inputs = batch.inputs - (batch.inputs @ basis) @ basis.T
    rate = instance.scales.learning_rate / len(second)
    return Drawn(
        rate * np.sqrt(len(second)) * second,
        first @ basis,
        after @ basis,
        first - (first @ basis) @ basis.T,
        after - (after @ basis) @ basis.T,
        float(np.linalg.norm(mean)),
        float(mean @ teacher / size / np.linalg.norm(mean)) if size > NOTHING else 0.0,
        (inputs * (residual**2)[:, None]).T @ inputs / len(sizes),
        (inputs * residual[:, None]).T @ inputs / len(sizes),
    )


def measures() -> dict[str, tuple[Callable[[Predicted], float], Callable[[Drawn], float]]]:
    """Return what is compared: the law's number, and that of one draw."""
    v = 2  # place of v̂ after two spikes

    def mean_square(place: int) -> Callable[[Drawn], float]:
        return lambda own: float(np.mean(own.after[:, place] ** 2))

    def load(place: int) -> Callable[[Predicted], float]:
        return lambda law: float(law.types.load[place, place])

    return {
        "|v|": (lambda p: float(p.law.pull[v]), lambda d: d.pull),
        "cosine of v̂ and ξ̂": (lambda p: p.law.cosine, lambda d: d.cosine),
        "M_vv": (lambda p: float(p.law.slope[v, v]), slope_along(v)),
        "row scale per ω": (row_scale, drawn_row_scale),
        "E ℓ² along spike 1": (load(0), mean_square(0)),
        "E ℓ² along v̂": (load(v), mean_square(v)),
        "n·Σ_n along v̂": (noise_along(v), drawn_noise_along(v)),
        "spread of B": (lambda p: float(p.groups.shares @ p.groups.noise**2) - 1, spread_of_noise),
        "slope of A on B": (group_slope, drawn_group_slope),
        "E q²": (
            lambda p: p.types.bulk_variance,
            lambda d: float(np.mean(np.sum(d.off_after**2, axis=1))),
        ),
    }


def slope_along(place: int) -> Callable[[Drawn], float]:
    """Return the regression of the step's part along a direction on that of F."""

    def slope(own: Drawn) -> float:
        step = own.after[:, place] - own.before[:, place]
        columns = np.column_stack([own.om, own.om * own.before[:, place]])
        return float(np.linalg.lstsq(columns, step, rcond=None)[0][1])

    return slope


def noise_along(place: int) -> Callable[[Predicted], float]:
    """Return n times the noise that neurons have of their own along a direction."""
    return lambda law: law.setting.dimension * float(law.law.noise[place, place])


def drawn_noise_along(place: int) -> Callable[[Drawn], float]:
    """Return what the regression on F in all directions leaves, times n, per om²."""

    def noise(own: Drawn) -> float:
        step = (own.after[:, place] - own.before[:, place]) / own.om
        columns = np.column_stack([np.ones_like(own.om), own.before])
        weights = own.om**2  # small second weights divide little
        root = np.sqrt(weights)[:, None]
        fit = np.linalg.lstsq(columns * root, step * root[:, 0], rcond=None)[0]
        rest = weights @ (step - columns @ fit) ** 2 / weights.sum()
        lost = (len(step) - columns.shape[1]) / len(step)
        return own.off_before.shape[1] * float(rest) / lost

    return noise


def spread_of_noise(own: Drawn) -> float:
    """Return the variance of B's eigenvalues over their squared mean, off the directions."""
    count = len(own.noise) - own.after.shape[1]
    mean = np.trace(own.noise) / count
    return float(np.sum(own.noise**2) / count / mean**2 - 1)


def group_slope(law: Predicted) -> float:
    """Return the slope of A's eigenvalues in those of B/E r²."""
    groups = law.groups
    moved = groups.noise - groups.shares @ groups.noise
    return float(groups.shares @ (groups.slope * moved) / (groups.shares @ moved**2))


def drawn_group_slope(own: Drawn) -> float:
    """Return the regression of A on B/E r² over directions."""
    count = len(own.noise) - own.after.shape[1]
    power, mean = np.trace(own.noise) / count, np.trace(own.slope) / count
    together = np.sum(own.noise * own.slope) / count / power - mean
    return float(together / (np.sum(own.noise**2) / count / power**2 - 1))


def row_scale(law: Predicted) -> float:
    """Return the mean of (c − 1)/om over initial types."""
    setting = law.setting
    weights = initial_types(setting, 1200).weights
    return float(weights @ law.law.scale)


def drawn_row_scale(own: Drawn) -> float:
    """Return the regression of the step off the directions on F there."""
    along = np.sum((own.off_after - own.off_before) * own.off_before, axis=1)
    size = np.sum(own.off_before**2, axis=1)
    return float(np.sum(own.om * along * size) / np.sum((own.om * size) ** 2))


def main() -> None:
    """Print the law beside draws."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=16)
    parser.add_argument("--dimension", type=int, default=500)
    options = parser.parse_args()
    for name, changes in CASES.items():
        changes = {key: value for key, value in changes.items() if value is not None}
        problem = problem_of(options.dimension, **changes)
        law = predicted(problem)
        draws = [drawn(problem, trial) for trial in range(options.draws)]
        print(f"{name}: step noise {law.types.step_noise:.2f}")
        for title, (said, seen) in measures().items():
            values = np.array([seen(own) for own in draws])
            error = values.std(ddof=1) / np.sqrt(len(values))
            print(f"  {title:20s} law {said(law):9.4g}   drawn {values.mean():9.4g} ± {error:.2g}")


if __name__ == "__main__":
    main()
