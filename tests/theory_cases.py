"""What the tests of the theory share: a trained layer, paired readouts, the limit's problem."""

import numpy as np

from onegrad import Problem
from onegrad.models.resolve import resolve_models
from onegrad.theory.ridge import ridge_errors
from onegrad.training.instance import Instance, draw
from onegrad.training.run import finished_run
from onegrad.training.streams import Streams
from onegrad.verbs.evaluation import sampled_errors
from onegrad.verbs.predicted_draw import reduced_moments
from onegrad.verbs.trial import fit_models


def train_first_layer(problem, seed=0, trial=0):
    """Return the instance, its initial layers, and F̂ after the step."""
    instance = draw(problem, seed=seed, trial=trial)
    run = finished_run(instance)
    layers, first = run.layers, run.first
    return instance, layers, first


def paired(problem, names, *, seed, redraws):
    """Simulate `redraws` readouts on one first layer; return simulated and predicted metrics."""
    instance, layers, first = train_first_layer(problem, seed=seed)
    models = resolve_models(problem, names, seed=seed)
    simulated = []
    for trial in range(redraws):
        other = Instance(
            problem,
            instance.mixture,
            instance.teacher,
            instance.scales,
            Streams(seed, trial + 1000),
        )
        maps = {m.key: m.feature_map(instance, layers, first) for m in models}
        fits = fit_models(other, first, maps)
        tests = sampled_errors(other, first, maps, fits)
        simulated.append([[tests[m.key]["test_mse"][0], fits[m.key].train_mse[0]] for m in models])
    errors = [
        ridge_errors(
            reduced_moments([m], instance, layers, first)[m.key],
            samples=np.array([problem.samples]),
            ridge=np.array(problem.ridges),
        )
        for m in models
    ]
    predicted = np.array([[f.test_mse[0, 0], f.train_mse[0, 0]] for f in errors])
    return np.array(simulated), predicted


def limit_problem(activation, target, *, n, width, ratio):
    """Return the finite problem of the limit at m̃ = 20n, η̃ = 3, λ = 0.1 (that work's λ)."""
    m, k = int(ratio * n), int(width * n)
    return Problem(
        dimension=n,
        readout={"samples": m, "ridge": 0.1 / m},
        training={"samples": 20 * n},
        network={
            "width": k,
            "activation": activation,
            "second_layer": "constant",
            "normalise_rows": True,
        },
        teacher={"link": target, "norm": 1.0},
        data={"components": [{"weight": 1.0, "rank": 0}]},
        scaling={"learning_rate": 3.0 * k, "spread": 0.0},
    )
