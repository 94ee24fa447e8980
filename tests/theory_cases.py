"""What the tests of the theory share: a trained layer, paired readouts, the limit's problem."""

import numpy as np

from onegrad import Problem
from onegrad.core.errors import sampled_errors
from onegrad.core.instance import Instance, draw
from onegrad.core.model_names import resolve_models
from onegrad.core.models import NETWORK
from onegrad.core.problem_readout import fit_models
from onegrad.core.run import finished_run
from onegrad.core.streams import Streams
from onegrad.moments.dense import population_moments
from onegrad.verbs.predict import predict_draw
from ridge_oracle import single_type_errors


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
    errors = predict_draw(problem, models, seed=seed).metrics
    predicted = [[errors[m.name][name][0] for name in ("test_mse", "train_mse")] for m in models]
    return np.array(simulated), np.array(predicted)


def single_type(problem, model=NETWORK, *, trial=0):
    """Return a model's errors by the equivalent that treats all samples alike."""
    instance, layers, first = train_first_layer(problem, trial=trial)
    matrix = layers.first if model.first_layer == "initial" else first
    feature_map = model.feature_map(instance, layers, first)
    moments = population_moments(instance.mixture, instance.teacher, matrix, feature_map)
    return single_type_errors(
        moments.covariance,
        moments.label,
        moments.label_power,
        samples=problem.samples,
        ridge=problem.ridges[0],
    )


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
