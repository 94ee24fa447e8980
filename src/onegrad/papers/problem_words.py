"""A sweep's problem in plain words: inputs, labels, network, training, and what is measured.

Everything is read off the problem and the axes, so that captions stay true when those change.
"""

from __future__ import annotations

from typing import Any

from onegrad.calculus.expansion import theorem_degree
from onegrad.data.index_teacher import OneDirection, SingleIndex
from onegrad.data.label_teacher import ClassLabels
from onegrad.data.multi_index import MultiIndex
from onegrad.describe.value import Value
from onegrad.papers.source_words import input_words
from onegrad.problem.problem import Problem
from onegrad.running.sweeps import Sweep

METRIC_WORDS = {
    "half_test_mse": "half the mean squared error on new inputs",
    "test_mse": "the mean squared error on new inputs",
    "objective": "what the readout minimises on its training samples, half their mean squared "
    "error plus (λ/2)‖ŵ‖²",
    "misclassification": "the share of new inputs whose label has the wrong sign",
    "test_loss": "the readout's loss on new inputs",
    "gap": "the relative difference between a model's test error and the network's",
    "linear_gap_percent": "by how many per cent the linear model's test error differs from the "
    "network's",
    "smallest_degree": "the smallest degree of a Hermite model whose test error is within 2 % of "
    "the network's",
}
MODEL_WORDS = {
    "hermite": "Hermite model: the activation is replaced by a polynomial of degree {degree} plus "
    "noise of the size of what that leaves out; same first layer, same fit.",
    "linear": "Linear model: the activation is replaced by a straight line plus noise; same first "
    "layer, same fit.",
    "untrained": "Untrained: the first layer before the step; same fit.",
}
LAYERS = {"gaussian": "normal", "sign": "±1/√k at random", "constant": "all 1/√k"}
COMBINED = {
    "mean": "the mean of {}",
    "sum": "the sum of {}",
    "product": "the product of {}",
    "staircase": "the staircase of {} (the first, plus the first times the second, and so on)",
}


def sweep_words(sweep: Sweep, metric: str) -> list[tuple[str, str]]:
    """Return (heading, sentences) about everything that a reader of a panel must know."""
    problem, axes = sweep.problem, sweep.axes
    parts = [
        ("Inputs", input_words(problem, axes)),
        ("Labels", _label_words(problem, axes)),
        ("Network", _network_words(problem, axes)),
        ("Training", _training_words(problem, axes)),
        *([("Beside it", models)] if (models := _model_words(sweep)) else []),
        ("Shown", _shown_words(problem, sweep, metric)),
    ]
    return [(heading, text) for heading, text in parts]


def varied(axes: dict[str, Any], path: str, text: str, *, what: str) -> str:
    """Return what a panel varies, or the text of what is fixed."""
    if path not in axes:
        return text
    values = axes[path]
    listed = ", ".join(shown_value(value) for value in values)
    if len(values) > 5 and all(isinstance(value, int | float) for value in values):
        listed = f"{shown_value(min(values))} to {shown_value(max(values))}"
    return f"{what} varied ({listed})"


def shown_value(value: Any) -> str:
    """Return a value of an axis as a sentence says it."""
    if isinstance(value, int | float):
        return f"{value:.4g}"
    if isinstance(value, list | tuple):
        return "(" + ", ".join(str(entry) for entry in value) + ")"
    return str(value)


def _label_words(problem: Problem, axes: dict[str, Any]) -> str:
    """Return how labels follow from inputs."""
    teacher = problem.teacher
    deviation = getattr(teacher, "noise", 0.0)
    noise = f", plus noise of deviation {deviation:g}" if deviation else ", without noise"
    if isinstance(teacher, ClassLabels):
        flips = f"; wrong with probability {teacher.flips:g}" if teacher.flips else ""
        return (
            "The label says which class an input belongs to: "
            + (
                "+1 or −1"
                if problem.binary
                else ", ".join(f"{x:g}" for x in problem.data.part_labels)
            )
            + (flips or (noise if problem.noisy else ""))
            + "."
        )
    if isinstance(teacher, SingleIndex):
        return f"y = {teacher.link}(ξᵀx){noise}. {_direction_words(teacher)}"
    if isinstance(teacher, OneDirection):
        return f"A teacher of kind {teacher.kind} by one direction. {_direction_words(teacher)}"
    if isinstance(teacher, MultiIndex):
        return _links_words(teacher, axes) + noise + "."
    return f"Labels of kind {teacher.kind}, {_fields_words(teacher)}."


def _direction_words(teacher: OneDirection) -> str:
    """Return what the one direction of a teacher is."""
    named = {"random": "random", "spikes": "along the sum of the spikes"}
    which = named.get(teacher.direction, "given") if isinstance(teacher.direction, str) else "given"
    length = "1/√‖Σ‖, Σ the inputs' covariance" if teacher.norm is None else f"{teacher.norm:g}"
    return f"The direction ξ is {which}, of length {length}."


def _links_words(teacher: MultiIndex, axes: dict[str, Any]) -> str:
    """Return how the links of several directions become a label."""
    links = varied(axes, "teacher.links", ", ".join(teacher.links), what="functions")
    where = {
        "random": "random",
        "spikes": "the first along the spikes",
        "last_spikes": "the last along the spikes",
    }
    which = where.get(teacher.directions, "") if isinstance(teacher.directions, str) else "given"
    which = varied(axes, "teacher.directions", which, what="their place")
    if teacher.rank == 1 and "teacher.links" not in axes:
        return f"y = {links} of the input's coordinate along one direction, {which}"
    combined = COMBINED[teacher.combine].format(links)
    return (
        f"y is {combined}, each a function of the input's coordinate z along a direction of its "
        f"own ({teacher.rank} orthogonal directions, {which})"
    )


def _network_words(problem: Problem, axes: dict[str, Any]) -> str:
    """Return what the network is before training."""
    network = problem.network
    width = f"k = {problem.width} neurons"
    if network.width is None and "readout.samples" in axes:
        width = f"k = {network.width_ratio:g}·m neurons, m the training samples"
    for path, what in (
        ("network.width_ratio", "neurons per training sample k/m"),
        ("network.width", "neurons k"),
    ):
        width = varied(axes, path, width, what=what)
    activation = varied(
        axes, "network.activation", f"activation {network.activation}", what="activation"
    )
    return (
        f"Two layers, ŷ = wᵀσ(Fx)/√k: {width}; {activation}. The first layer F starts random, the "
        f"second layer w {LAYERS[network.second_layer]}."
    )


def _training_words(problem: Problem, axes: dict[str, Any]) -> str:
    """Return the steps of the first layer and the fit of the second."""
    training, readout = problem.training, problem.readout
    steps = "one step" if training.steps == 1 else f"{training.steps} steps"
    rule = "of gradient descent" if training.rule == "gradient" else f"by the rule {training.rule}"
    rule = varied(axes, "training.rule", rule, what="by a rule that is")
    samples = f"N = {problem.samples_per_step}"
    if training.samples is None and {"dimension", "readout.samples"} & set(axes):
        samples = "as many"
    samples = varied(axes, "training.samples_exponent", samples, what="N = n^κ, κ")
    taken = varied(axes, "training.subtract", "", what="Part of the labels taken off first:")
    fit = "ridge regression" if readout.loss == "square" else f"the {readout.loss} loss"
    fit = varied(axes, "readout.loss", fit, what="a convex loss,")
    count = varied(axes, "readout.samples", f"m = {problem.samples}", what="m")
    batch = "the step's own samples" if readout.batch == "same" else f"{count} fresh samples"
    batch = varied(axes, "readout.batch", batch, what="samples of the step or fresh ones,")
    ridges = ", ".join(f"{ridge:g}" for ridge in problem.ridges)
    penalty = varied(axes, "readout.ridge", f"λ = {ridges}", what="λ")
    return (
        f"The first layer takes {steps} {rule} on {samples} samples{' each' * (training.steps > 1)}"
        f", {_rate_words(problem, axes)}. Then the second layer is fitted by {fit} on {batch}, "
        f"penalty {penalty}." + (f" {taken}." if taken else "")
    )


def _rate_words(problem: Problem, axes: dict[str, Any]) -> str:
    """Return the size of a step."""
    scaling = problem.scaling
    if "scaling.learning_rate" in axes:
        return varied(axes, "scaling.learning_rate", "", what="learning rate η")
    if scaling.change_exponent is not None or "scaling.change_exponent" in axes:
        text = f"n^{shown_value(scaling.change_exponent)}"
        size = varied(axes, "scaling.change_exponent", text, what="n^a, a")
        return f"scaled so that the change has spectral norm {size}"
    if scaling.strength is not None:
        return f"learning rate η = n^(βα){_exponent_words(problem, axes, 'rate')}"
    if scaling.per_width is not None:
        return f"learning rate η = {scaling.per_width:g}·k"
    if scaling.per_root is not None:
        return f"learning rate η = {scaling.per_root:g}·√(Nk)"
    return f"learning rate η = {scaling.learning_rate or 0:g}"


def _exponent_words(problem: Problem, axes: dict[str, Any], which: str) -> str:
    """Return the value of n^(βα) or n^(β(1−α)), or nothing where an axis changes it."""
    if {"scaling.strength", "scaling.weighting", "dimension"} & set(axes):
        return ""
    rate = problem.scaling.learning_rate_at(
        dimension=problem.dimension, width=problem.width, samples=problem.samples_per_step
    )
    value = rate if which == "rate" else problem.scaling.spread_at(problem.dimension)
    return "" if value is None else f" = {value:.3g}"


def _model_words(sweep: Sweep) -> str:
    """Return what the models beside the network are."""
    sentences: list[str] = []
    for name in sweep.models:
        plain, _, degree = str(name).partition(":")
        words = MODEL_WORDS.get(plain)
        if words and not any(words.split(":")[0] in sentence for sentence in sentences):
            several = sum(str(other).startswith(f"{plain}:") for other in sweep.models) > 1
            known = "given in the legend" if several else degree or _degree_words(sweep)
            sentences.append(words.format(degree=known))
    return " ".join(sentences)


def _degree_words(sweep: Sweep) -> str:
    """Return the degree that the theorem asks for at the panel's strength."""
    scaling = sweep.problem.scaling
    if scaling.strength is None or "scaling.strength" in sweep.axes:
        return "that grows with the strength β"
    return f"{theorem_degree(scaling.strength, cap=scaling.degree_cap)}"


def _shown_words(problem: Problem, sweep: Sweep, metric: str) -> str:
    """Return what is measured, how often, and what is drawn anew."""
    what = METRIC_WORDS.get(metric, metric.replace("_", " "))
    how = (
        "integrated over the inputs' law"
        if problem.test == "exact"
        else (f"on {problem.samples_in_test} test inputs")
    )
    text = f"{what[0].upper()}{what[1:]}"
    if sweep.observe != "no":
        text, metric = "Single neurons and spectra are those of the first trial", "objective"
    if "simulate" not in sweep.verbs:
        return f"{text}; by theory alone, nothing is trained."
    anew = "everything" if problem.redraw == "all" else "the network's first weights alone"
    test = f", {how}" if metric != "objective" else ""
    return f"{text}{test}; {_trial_words(sweep.trials)}, {anew} drawn anew in each."


def _trial_words(trials: int) -> str:
    """Return over how many trials means are taken."""
    return "one trial" if trials == 1 else f"means over {trials} trials"


def _fields_words(value: Value) -> str:
    """Return the fields of a description of one's own."""
    fields = value.model_dump(mode="json")
    named = [f"{name} {shown_value(v)}" for name, v in fields.items() if name != "kind"]
    return ", ".join(named) or "as registered"
