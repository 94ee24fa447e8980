"""A problem's inputs in plain words: a Gaussian mixture, or rows of a data set."""

from __future__ import annotations

from typing import Any

from onegrad.data.mixture_source import Component, MixtureSource
from onegrad.data.rows.empirical import EmpiricalData
from onegrad.problem.problem import Problem

COUNTS = {1: "One", 2: "Two", 3: "Three", 4: "Four"}
DATA_SETS = {
    "fashion-mnist": "Fashion-MNIST images",
    "fashion-mnist-sample": "the 1,200 Fashion-MNIST images per class that ship with onegrad",
    "digits": "8×8 images of digits",
}
CENTRING = {
    "class": "each class is centred by its own mean",
    "midpoint": "both are centred by the midpoint of the class means, so that the means stay apart",
    "none": "no mean is subtracted",
}
WEIGHT, ALIGNMENT, RANK = "data.components.0.weight", "data.alignment", "data.components.*.rank"


def input_words(problem: Problem, axes: dict[str, Any]) -> str:
    """Return what an input is drawn from."""
    if isinstance(problem.data, MixtureSource):
        return _mixture_words(problem, problem.data, axes)
    if isinstance(problem.data, EmpiricalData):
        return _rows_words(problem, problem.data, axes)
    return f"{problem.dimension} numbers each, from a source of kind {problem.data.kind}."


def _mixture_words(problem: Problem, source: MixtureSource, axes: dict[str, Any]) -> str:
    """Return the components, how they differ, and how their spikes lie to each other."""
    size = "n numbers each, n varied" if "dimension" in axes else f"n = {problem.dimension} numbers"
    components = [c for c in source.components if c.weight > 0]
    if len(components) == 1 and components[0].rank == 0 and components[0].mean is None:
        return f"{size}, independent and normal, with variance {components[0].level:g}."
    weights = {c.weight for c in components}
    shares = (
        "of equal weight"
        if len(weights) == 1
        else "of weights " + ", ".join(f"{c.weight:g}" for c in components)
    )
    if WEIGHT in axes:
        shares = "whose weights are varied"
    count = COUNTS.get(len(components), str(len(components)))
    clouds = f"{count} Gaussian cloud{'s' if len(components) > 1 else ''} {shares}"
    return f"{size}. {clouds}{_mean_words(components, axes)}. {_spike_words(problem, source, axes)}"


def _mean_words(components: list[Component], axes: dict[str, Any]) -> str:
    """Return where the clouds are centred."""
    if "data.components.0.mean" in axes:
        lengths = ", ".join(f"{x:g}" for x in axes["data.components.0.mean"])
        return f", centred at ±μ along one random direction, of length {lengths}"
    if all(c.mean is None for c in components):
        return ", all centred at 0"
    places = [f"{c.mean:g}" if isinstance(c.mean, float) else "given" for c in components]
    return f", centred at {', '.join(places)} along one random direction"


def _spike_words(problem: Problem, source: MixtureSource, axes: dict[str, Any]) -> str:
    """Return along which directions the clouds are stretched, and by how much."""
    ranks = {c.rank for c in source.components}
    if ranks == {0} and RANK not in axes:
        return "Each has the same variance in every direction."
    without = sum(c.rank == 0 for c in source.components)
    some = len(source.components) - without
    who = "Each" if not without else f"{COUNTS.get(some, str(some))} of them"
    several = RANK in axes or max(ranks) > 1
    number = (
        "a number of directions (varied)"
        if RANK in axes
        else (f"{max(ranks)} directions" if several else "one direction")
    )
    own = (
        ""
        if source.alignment is None and ALIGNMENT not in axes
        else (
            "; the cosine between the clouds' directions is "
            + ("varied" if ALIGNMENT in axes else f"{source.alignment:g}")
        )
    )
    uniform = any(c.strengths == "uniform" for c in source.components)
    amount = "θ times a uniform number" if uniform else "θ"
    return (
        f"{who} is stretched along {number} of its own{own}: the variance there is 1 + {amount}, "
        f"elsewhere 1; {_spread_words(problem, axes)}."
    )


def _spread_words(problem: Problem, axes: dict[str, Any]) -> str:
    """Return what θ is."""
    scaling = problem.scaling
    if scaling.strength is None:
        return f"θ = {scaling.spread_at(problem.dimension):.4g}"
    fixed = [
        f"{symbol} = {getattr(scaling, name):g}"
        for name, symbol in (("strength", "β"), ("weighting", "α"))
        if f"scaling.{name}" not in axes
    ]
    moved = {"scaling.strength", "scaling.weighting", "dimension"} & set(axes)
    value = "" if moved else f" = {scaling.spread_at(problem.dimension):.3g}"
    where = f" with {', '.join(fixed)}" if fixed else ""
    return f"θ = n^(β(1−α)){value}{where}"


def _rows_words(problem: Problem, source: EmpiricalData, axes: dict[str, Any]) -> str:
    """Return which rows of a data set, and what is done to them."""
    name = DATA_SETS.get(source.file or "", "rows of a data set")
    classes = " against ".join("+".join(group) for group in source.classes or ())
    if "data.classes" in axes:
        classes = " and ".join(str(pair).replace(",", " against ") for pair in axes["data.classes"])
    noise = f" Normal noise of deviation {source.noise:g} is added." if source.noise else ""
    scaled = f", scaled to total variance {problem.scaling.spread_at(problem.dimension):.4g}"
    words = (
        f"{problem.dimension} numbers each: {name}, classes {classes}; {CENTRING[source.centring]}"
        f"{scaled if source.rescale else ''}.{noise}"
    )
    if not source.fit_share:
        return words
    fit = _fit_words(source, axes)
    return f"{words} Theory sees a mixture of {fit}, fitted to rows that no network sees."


def _fit_words(source: EmpiricalData, axes: dict[str, Any]) -> str:
    """Return the size of the fitted mixture."""
    if "data.fit.components_per_class" in axes:
        sizes = ", ".join(str(n) for n in axes["data.fit.components_per_class"])
        return f"{sizes} Gaussians per class"
    count = source.fit.components_per_class
    return "Gaussians" if count is None else f"{count} Gaussian{'s' * (count > 1)} per class"
