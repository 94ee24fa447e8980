"""Varied problems for `bits.py`: every verb, source, model, method and estimator is in them."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import onegrad as og
from onegrad import Problem, predict, simulate
from onegrad.data.staircase import first_direction, hermite_tensor, staircase

sys.path += [str(Path(__file__).parents[1] / "tests" / folder) for folder in ("", "papers")]
from tiny_studies import tables_of, tiny_studies

ALL_MODELS = ["network", "hermite", "linear", "untrained", "conditional", "hermite:2"]
FEW_MODELS = ["network", "hermite", "linear", "untrained"]


def problem(**changes: Any) -> Problem:
    """Return a problem that takes milliseconds."""
    small = Problem(dimension=60, readout={"samples": 80}, network={"width": 50})
    return small.replace(**changes)


def mixed_source(n: int = 60) -> og.MixtureSource:
    """Return components with means, levels, ranks, labels, fixed and uniform strengths."""
    rng = np.random.default_rng(7)
    return og.MixtureSource(
        components=(
            og.Component(weight=0.5, mean=0.3 * rng.standard_normal(n), rank=2, label=1.0),
            og.Component(weight=0.3, level=0.5, rank=1, strengths="uniform", label=-1.0),
            og.Component(weight=0.2, mean=-0.2 * np.ones(n), rank=0, label=1.0),
        )
    )


def given_directions() -> Problem:
    """Return a problem whose spikes and teacher are arrays."""
    rng = np.random.default_rng(3)
    basis = np.linalg.qr(rng.standard_normal((60, 3)))[0]
    components = (
        og.Component(weight=0.4, directions=basis[:, :2], strengths=(1.0, 0.5)),
        og.Component(weight=0.6, directions=basis[:, 2:]),
    )
    return problem(
        data=og.MixtureSource(components=components),
        teacher={"link": "tanh", "direction": basis.sum(axis=1), "noise": 0.2},
    )


# As real data are prepared in the paper's panels, said in full: the default is another.
PUBLISHED = {"centring": "class", "equal_traces": True, "noise": 1.0}


def real_rows(**changes: Any) -> Problem:
    """Return a problem on given rows of two classes."""
    rng = np.random.default_rng(5)
    y = np.repeat([3, 7], 300)
    x = rng.standard_normal((600, 12)) * np.where(y == 3, 1.0, 2.0)[:, None]
    how = {**PUBLISHED, "centring": "midpoint"}
    data = og.EmpiricalData(x + np.where(y == 3, 1.0, -1.0)[:, None], y, **how)
    sizes = {"readout": {"samples": 40}, "test_samples": 100}
    return Problem(data=data, network={"width": 30, "activation": "tanh"}, **sizes).replace(
        **changes
    )


def constant_first() -> Any:
    """Return the rows with a first feature that is constant."""
    return np.where(np.arange(12) == 0, 0.0, real_rows().data.inputs.values)


def far_from_gaussian() -> Problem:
    """Return a problem on rows that a fitted mixture describes poorly."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.standard_normal((300, 6)) ** 3, rng.standard_normal((300, 6)) ** 2])
    sizes = {"readout": {"samples": 30}, "network": {"width": 20}, "test_samples": 60}
    return Problem(data=og.EmpiricalData(x, np.repeat([0, 1], 300)), **sizes)


def digits() -> Problem:
    """Return a problem on the digits that come with scikit-learn."""
    data = {"file": "digits", "classes": "0+2+4+6+8,1+3+5+7+9", **PUBLISHED, "noise": 0.1}
    fit = {"components_per_class": 2, "rank": 5}
    return Problem(readout={"samples": 60}, test_samples=200, data={**data, "fit": fit})


def steps(**changes: Any) -> Problem:
    """Return a problem of giant steps that takes milliseconds."""
    small = {
        "dimension": 48,
        "network": {"width": 40},
        "training": {"samples": 400, "steps": 2},
        "readout": {"batch": "same", "penalty": 1.0},
        "test": "sampled",
        "test_samples": 300,
        "teacher": {"links": ["z"]},
    }
    return Problem(**small).replace(**changes)


def labelled(**changes: Any) -> Problem:
    """Return a problem whose labels are the components."""
    return problem(teacher=LABELS, network__activation="tanh", **changes)


def components(**fields: Any) -> Problem:
    """Return a problem on two components with these fields."""
    return problem(data=og.MixtureSource(components=[og.Component(weight=0.5, **fields)] * 2))


def closed(given: Problem) -> og.Errors:
    """Return the errors of theory without draws."""
    return predict(given, FEW_MODELS, method="closed")


def estimated(estimator: Any, **parameters: Any) -> dict[str, Any]:
    """Return what an estimator has learned from the rows of two classes."""
    data = real_rows().data
    x, y = data.inputs.values, data.labels.values
    targets = x[:, 0] * x[:, 1] if estimator is og.OneStepRegressor else y
    fitted = estimator(20, random_state=3, **parameters).fit(x, targets)
    learned = {name: value for name, value in vars(fitted).items() if name.endswith("_")}
    for name in ("predict", "predict_proba", "transform"):
        if hasattr(fitted, name):
            learned[name] = getattr(fitted, name)(x[:20])
    return learned


def panel_tables() -> dict[str, Any]:
    """Return the tables of a small panel of every kind."""
    with tempfile.TemporaryDirectory() as folder, tiny_studies():
        panels = tables_of(PANELS.split(), folder)
    return {name: [panel.table, *map(vars, panel.deviations)] for name, panel in panels.items()}


def swept(**fields: Any) -> dict[str, Any]:
    """Return the means of a sweep, by setting."""
    workers = fields.pop("workers", 1)
    with tempfile.TemporaryDirectory() as folder:
        results = og.run_sweep(og.Sweep(**fields), folder, workers=workers)
        frame, found = results.to_frame(), {"gaps": results.gaps(), "theory": results.theory_gaps()}
        if fields.get("observe"):
            found["runs"] = [run for _, run in results.observed()]
    for line in frame.drop(columns=["setting", "method", "step"]).to_dict("records"):
        values = [line.pop("mean"), line.pop("stderr")]
        found["|".join(str(value) for value in line.values())] = values
    return found


def leaky(u: Any) -> Any:
    """Return a function of the user's own."""
    return np.where(u > 0, u, 0.1 * u)


def leaky_slope(u: Any) -> Any:
    """Return its derivative."""
    return np.where(u > 0, 1.0, 0.1)


def own_activation() -> Problem:
    """Return a problem with a registered activation."""
    og.register_function("leaky_bits", leaky, leaky_slope, kinks=(0.0,))
    return problem(network__activation="leaky_bits", teacher__link="leaky_bits")


def staircases() -> dict[str, Any]:
    """Return tensors and leaps of teachers of several directions."""
    links = ["He4/24 + He2/2 + He1", "tanh(2*z)", "relu(z - 1) + abs(z)"]
    out = {}
    for combine in ("mean", "sum", "product", "staircase"):
        teacher = og.MultiIndex(links=links, combine=combine)
        tensors = [hermite_tensor(teacher, degree) for degree in range(4)]
        out[combine] = [tensors, first_direction(teacher), staircase(teacher).leaps]
    return out


def fitted() -> dict[str, Any]:
    """Return the components of a fitted mixture."""
    x, y = real_rows().data.inputs, real_rows().data.labels
    source = og.fit_mixture(np.asarray(x), np.asarray(y), components_per_class=2, rank=3)
    return {
        str(i): [c.weight, c.level, c.mean.values, c.directions.values, c.strengths]
        for i, c in enumerate(source.components)
    }


LABELS = {"kind": "labels"}
WIDE = {
    "dimension": 520,
    "readout": {"samples": 300},
    "network": {"width": 700, "activation": "tanh"},
}
STRONG = {"scaling__strength": 0.95, "scaling__weighting": 0.0}
PANELS = "1a 4a 4b degrees C1a C2 gap G1 G3 G4 G5 R1 R2 Z1"
LOSSES = ("logistic", "squared_hinge", "hinge", "huber:0.5")
SWEEP_AXES = {
    "network.activation": ["relu", "tanh"],
    "scaling.strength": [0.3, 0.8],
    "readout.ridge": [1e-3, 1e-1],
}
CASES: dict[str, Callable[[], Any]] = {
    "simulate relu": lambda: simulate(problem(), ALL_MODELS, trials=3),
    "simulate classes": lambda: simulate(
        problem(teacher=LABELS, network__activation="tanh", readout__ridge=[1e-4, 1e-2, 1]),
        ALL_MODELS,
        trials=3,
    ),
    "simulate signs": lambda: simulate(
        problem(teacher={"kind": "sign", "flips": 0.1}, training__subtract="mean"),
        ALL_MODELS,
        trials=3,
    ),
    "simulate logistic labels": lambda: simulate(
        problem(
            teacher={"kind": "logistic", "slope": 3.0},
            readout={"samples": 80, "loss": "logistic", "ridge": [1e-2, 1]},
        ),
        ALL_MODELS,
        trials=2,
    ),
    "simulate an output per class": lambda: simulate(
        problem(
            data=mixed_source().replace(components__2__label=0.0),
            teacher=LABELS,
            readout={"samples": 80, "ridge": [1e-2, 1], "outputs": "classes"},
        ),
        ALL_MODELS,
        trials=2,
    ),
    "simulate sampled": lambda: simulate(problem(test="sampled"), ALL_MODELS, trials=3),
    "simulate mixed precision": lambda: simulate(
        problem(precision="mixed", network__activation="sigmoid"), ALL_MODELS, trials=3
    ),
    "simulate means": lambda: simulate(problem(data=mixed_source()), ALL_MODELS, trials=3),
    "simulate labels with means": lambda: simulate(
        problem(data=mixed_source(), teacher=LABELS), ALL_MODELS, trials=3
    ),
    "simulate aligned": lambda: simulate(
        problem(data__alignment=0.4, data__counts="sampled", data__components__1__rank=2),
        FEW_MODELS,
        trials=3,
    ),
    "simulate along spikes": lambda: simulate(
        problem(
            teacher__direction="spikes",
            network__activation="erf",
            network__normalise_rows=True,
            network__second_layer="sign",
            scaling={"learning_rate": 4.0, "spread": 9.0},
        ),
        ALL_MODELS,
        trials=3,
    ),
    "simulate hermite link": lambda: simulate(
        problem(
            teacher={"link": "hermite:2", "noise": 0.3, "norm": 0.7},
            network__second_layer="constant",
            network__activation="softplus",
        ),
        FEW_MODELS,
        trials=3,
    ),
    "simulate one data set": lambda: simulate(
        problem(redraw="network"), FEW_MODELS, trials=4, workers=2
    ),
    "simulate given directions": lambda: simulate(given_directions(), ALL_MODELS, trials=3),
    "simulate rows": lambda: simulate(real_rows(), FEW_MODELS, trials=3),
    "simulate digits": lambda: simulate(digits(), FEW_MODELS, trials=2),
    "simulate own activation": lambda: simulate(own_activation(), FEW_MODELS, trials=3, workers=2),
    "simulate to a target": lambda: simulate(problem(), FEW_MODELS, target_stderr=0.05),
    "simulate dual": lambda: simulate(
        problem(network__width=130, network__activation="gelu", readout__ridge=[1e-3, 1e-2]),
        FEW_MODELS,
        trials=3,
    ),
    "predict relu": lambda: predict(problem(), FEW_MODELS, draws=3),
    "predict classes": lambda: predict(
        problem(teacher=LABELS, network__activation="tanh", readout__ridge=[1e-4, 1e-2]), FEW_MODELS
    ),
    "predict means": lambda: predict(problem(data=mixed_source()), FEW_MODELS, draws=2, workers=2),
    "predict sin": lambda: predict(
        problem(network__activation="sin", teacher__link="silu", **STRONG), FEW_MODELS, draws=2
    ),
    "predict wide": lambda: predict(Problem(**WIDE), FEW_MODELS, draws=1),
    "predict rows": lambda: predict(real_rows(), FEW_MODELS, draws=2),
    "predict digits": lambda: predict(digits(), FEW_MODELS, draws=1),
    "predict own activation": lambda: predict(own_activation(), FEW_MODELS, draws=2),
    "predict a curve": lambda: og.predict_curve(
        problem(), samples=[20, 50, 200], ridge=[1e-4, 1e-2], models=FEW_MODELS, draws=2
    ),
    "equivalence": lambda: og.equivalence(problem(teacher__direction="spikes"), [1, 2, 3, 4]),
    "tune": lambda: og.tune(problem(teacher__noise=0.1), draws=2),
    "tune ridge": lambda: og.tune(real_rows(), "ridge", draws=2),
    "limit": lambda: og.maximal_rate_limit(
        "tanh", "sin", step_ratio=2, rate=2, width_ratio=1.5, sample_ratio=[0.5, 2], ridge=0.1
    ),
    "steps": lambda: og.take_steps(steps(teacher__links=["z+z**2", "z-z**2"])),
    "steps subtracted": lambda: og.take_steps(
        steps(
            training__subtract="linear",
            teacher={"links": ["He2/2+He1", "relu"], "combine": "staircase", "noise": 0.1},
            scaling__per_root=3.0,
            network__second_layer="sign",
        )
    ),
    "steps fresh": lambda: og.take_steps(
        steps(
            readout={"samples": 60, "ridge": 0.1},
            network__activation="tanh",
            scaling__change_exponent=0.3,
        )
    ),
    "steps streamed": lambda: og.take_steps(
        steps(training={"samples": 5000, "subtract": "mean"}, teacher__links=["tanh(2*z)"])
    ),
    "sweep": lambda: swept(
        problem=problem(), axes=SWEEP_AXES, verbs=("simulate", "predict"), trials=2, draws=2
    ),
    "sweep rows on two workers": lambda: swept(
        problem=real_rows(),
        axes={"readout.samples": [20, 30], "network.width": [10, 20]},
        verbs=("simulate", "predict"),
        trials=2,
        draws=1,
        workers=2,
    ),
    "fitted mixture": fitted,
    "on fitted mixture": lambda: predict(og.on_fitted_mixture(real_rows()), FEW_MODELS, draws=1),
    "staircases": staircases,
    "limit of few step samples": lambda: og.maximal_rate_limit(
        "erf", "tanh", step_ratio=0.5, rate=1, width_ratio=1, sample_ratio=1, ridge=0.1
    ),
    "simulate observed": lambda: simulate(
        problem(training__steps=2, teacher={"links": ["z", "He2"]}),
        ["network"],
        trials=2,
        observe=True,
    ),
    "simulate a high degree": lambda: simulate(problem(), ["network", "hermite:12"], trials=2),
    "simulate constant features": lambda: simulate(
        real_rows(data__inputs=constant_first(), data__digest=None), FEW_MODELS, trials=2
    ),
    "simulate neurons that are almost parallel": lambda: simulate(
        problem(
            network__activation="tanh",
            training__samples=2000,
            scaling={"learning_rate": 1e4, "spread": 4.0},
        ),
        FEW_MODELS,
        trials=1,
    ),
    "simulate rules": lambda: [
        simulate(problem(training__rule=rule), FEW_MODELS, trials=2).metrics
        for rule in ("sign", "polar", "whitened", "whitened:0.5")
    ],
    "simulate steps": lambda: simulate(
        problem(training={"steps": 3, "batches": "reused", "momentum": 0.5}), FEW_MODELS, trials=2
    ),
    "simulate subtracted": lambda: [
        simulate(problem(training__subtract=what), FEW_MODELS, trials=2).metrics
        for what in ("mean", "linear", "moments")
    ],
    "simulate several directions": lambda: simulate(
        problem(teacher={"links": ["tanh", "He2/2"], "combine": "staircase", "noise": 0.1}),
        FEW_MODELS,
        trials=2,
    ),
    "simulate losses": lambda: [
        simulate(labelled(readout__loss=loss, readout__ridge=0.1), FEW_MODELS, trials=2).metrics
        for loss in LOSSES
    ],
    "predict logistic labels": lambda: predict(
        problem(
            teacher={"kind": "logistic", "slope": 3.0},
            readout={"samples": 80, "loss": "logistic", "ridge": [1e-2, 1]},
        ),
        FEW_MODELS,
        draws=1,
    ),
    "predict losses": lambda: [
        predict(labelled(readout__loss=loss, readout__ridge=0.1), FEW_MODELS, draws=1).metrics
        for loss in LOSSES
    ],
    "predict an output per class": lambda: predict(
        labelled(data=mixed_source().replace(components__2__label=0.0), readout__outputs="classes"),
        FEW_MODELS,
        draws=1,
    ),
    "predict steps": lambda: predict(
        problem(training={"steps": 2, "rule": "polar"}), FEW_MODELS, draws=1
    ),
    "predict several directions": lambda: predict(
        problem(teacher={"links": ["tanh", "He2/2"], "combine": "sum"}), FEW_MODELS, draws=1
    ),
    "predict signs": lambda: predict(problem(teacher={"kind": "sign"}), FEW_MODELS, draws=1),
    "equivalence of sizes": lambda: og.equivalence(problem(), [1, 2], dimensions=[40, 60, 80]),
    "equivalence of rates": lambda: og.equivalence(labelled(), [1, 2], metric="misclassification"),
    "tune at an edge": lambda: og.tune(
        problem(teacher={"link": "z", "noise": 30.0}), "ridge", draws=3
    ),
    "tune where a fit is poor": lambda: og.tune(far_from_gaussian(), "ridge", draws=2),
    "tune rates": lambda: og.tune(labelled(), "ridge", metric="misclassification", draws=1),
    "closed relu": lambda: closed(problem()),
    "closed tanh": lambda: closed(
        problem(
            network={"width": 50, "activation": "tanh", "second_layer": "sign"},
            teacher={"link": "sin", "noise": 0.2},
            readout__ridge=[1e-3, 1e-1],
        )
    ),
    "closed normalised": lambda: closed(
        problem(network__normalise_rows=True, network__activation="erf", teacher__norm=0.7)
    ),
    "closed classes": lambda: closed(labelled(readout__ridge=[1e-3, 1e-1])),
    "closed flipped classes": lambda: closed(
        problem(
            data=og.MixtureSource(components=[{"weight": 0.3}, {"weight": 0.7}]),
            teacher={"kind": "labels", "flips": 0.1},
        )
    ),
    "closed signs": lambda: closed(problem(teacher={"kind": "sign", "flips": 0.1})),
    "closed logistic loss": lambda: closed(
        problem(
            teacher={"kind": "logistic", "slope": 3.0},
            readout={"samples": 80, "loss": "logistic", "ridge": [1e-2, 1]},
        )
    ),
    "closed losses": lambda: [
        closed(labelled(readout__loss=loss, readout__ridge=[0.01, 0.1])).metrics for loss in LOSSES
    ],
    "closed uniform strengths": lambda: closed(components(rank=2, strengths="uniform")),
    "closed several strong directions": lambda: closed(components(rank=3, strengths=(1, 0.7, 0.4))),
    "closed isotropic": lambda: closed(components(rank=0)),
    "closed levels and means": lambda: closed(
        problem(
            data__components__0={"weight": 0.4, "level": 0.5, "mean": 0.8},
            data__components__1={"weight": 0.6, "mean": -0.5},
        )
    ),
    "closed aligned": lambda: closed(problem(data__alignment=0.4, data__equal_totals=True)),
    "closed given directions": lambda: closed(given_directions()),
    "closed along spikes": lambda: closed(
        problem(teacher__direction="spikes", scaling={"learning_rate": 4.0, "spread": 9.0})
    ),
    "closed sampled counts": lambda: closed(labelled(data__counts="sampled")),
    "closed at the peak": lambda: closed(problem(network__width=80, readout__ridge=1e-6)),
    "closed loud step": lambda: closed(
        problem(training__samples=20, scaling={"learning_rate": 300.0, "spread": 4.0})
    ),
    "closed strong step of few samples": lambda: closed(problem(training__samples=20, **STRONG)),
    "closed few neurons": lambda: closed(problem(network__width=4)),
    "closed own activation": lambda: closed(own_activation()),
    "closed wide": lambda: closed(Problem(**WIDE)),
    "closed curve": lambda: og.predict_curve(
        problem(), samples=[20, 50, 200], ridge=[1e-4, 1e-2], models=FEW_MODELS, method="closed"
    ),
    "closed curve of strengths": lambda: og.predict_curve(
        problem(),
        over={"scaling.strength": [0.1, 0.5, 0.9], "network.width": [40, 50, 60]},
        ridge=[1e-3, 1e-1],
        models=FEW_MODELS,
        method="closed",
    ),
    "curve of strengths": lambda: og.predict_curve(
        problem(), over={"scaling.strength": [0.1, 0.9]}, models=FEW_MODELS, draws=2
    ),
    "auto": lambda: predict(problem(dimension=600, readout__ridge=1), FEW_MODELS, method="auto"),
    "auto in doubt": lambda: predict(
        problem(network__width=80, readout__ridge=1e-6), FEW_MODELS, method="auto", draws=1
    ),
    "auto for what closed does not cover": lambda: predict(
        problem(training__rule="sign"), FEW_MODELS, method="auto", draws=1
    ),
    "closed equivalence": lambda: og.equivalence(
        problem(teacher__direction="spikes"), [1, 2, 3, 4], method="closed"
    ),
    "closed equivalence of sizes": lambda: og.equivalence(
        labelled(), [1, 2], dimensions=[40, 80, 160], metric="misclassification", method="closed"
    ),
    "closed tune": lambda: og.tune(problem(teacher__noise=0.1), method="closed"),
    "closed tune ridge": lambda: og.tune(
        labelled(), "ridge", metric="misclassification", method="closed"
    ),
    "closed sweep": lambda: swept(
        problem=problem(), axes=SWEEP_AXES, verbs="predict", method="closed"
    ),
    "observed sweep": lambda: swept(
        problem=problem(training__steps=2),
        axes={"training.rule": ["gradient", "sign"]},
        models="network,hermite",
        verbs=("simulate", "predict"),
        observe="neurons",
        trials=2,
        draws=1,
    ),
    "classifier": lambda: estimated(og.OneStepClassifier, ridge="theory", learning_rate="theory"),
    "logistic classifier": lambda: estimated(og.OneStepClassifier, loss="logistic", bias=0.5),
    "regressor": lambda: estimated(og.OneStepRegressor, ridge="theory", steps=2),
    "features": lambda: estimated(og.OneStepFeatures, rule="polar", strength=0.5),
    "panels": panel_tables,
}
