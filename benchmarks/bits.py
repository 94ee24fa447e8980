"""The numbers of varied problems, recorded to the last bit, and compared after a change.

    python benchmarks/bits.py record FILE.json
    python benchmarks/bits.py compare FILE.json

Every verb, source, model and method is in it. Numbers are stored as hexadecimal floats; another
processor or BLAS may differ in the last digits, so record before a change on the same machine.
"""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import onegrad as og
from onegrad import Problem, predict, simulate
from onegrad.data.staircase import first_direction, hermite_tensor, staircase

ALL_MODELS = ["network", "hermite", "linear", "untrained", "conditional", "hermite:2"]
FEW_MODELS = ["network", "hermite", "linear", "untrained"]
FULL_TYPES: Any = "full_types"


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


def numbers(value: Any) -> Iterator[tuple[str, float]]:
    """Yield every number in nested dictionaries, lists and arrays, by its path."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from ((f"{name}.{path}", number) for path, number in numbers(inner))
    elif isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim):
        for index, inner in enumerate(value):
            yield from ((f"{index}.{path}", number) for path, number in numbers(inner))
    elif isinstance(value, float | int | np.number | np.ndarray) and not isinstance(value, bool):
        yield "", float(value)


def swept(**fields: Any) -> dict[str, Any]:
    """Return the means of a sweep, by setting."""
    workers = fields.pop("workers", 1)
    with tempfile.TemporaryDirectory() as folder:
        frame = og.run_sweep(og.Sweep(**fields), folder, workers=workers).to_frame()
    found = {}
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
    register = getattr(og, "register_function", None) or og.register_function
    register("leaky_bits", leaky, leaky_slope, kinks=(0.0,))
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
    "predict by types": lambda: predict(problem(**STRONG), FEW_MODELS, method=FULL_TYPES, draws=2),
    "predict classes by types": lambda: predict(
        problem(teacher=LABELS, network__activation="tanh", readout__ridge=[1e-3, 1e-1], **STRONG),
        FEW_MODELS,
        method=FULL_TYPES,
        draws=1,
    ),
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
    "sweep by types": lambda: swept(
        problem=problem(**STRONG), models="network", verbs="predict", draws=1, method=FULL_TYPES
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
}
AGAIN = {"problem", "digest", "versions", "seconds"}


def measured(name: str) -> dict[str, str]:
    """Return the numbers of one case as exact texts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = CASES[name]()
    if hasattr(result, "metrics"):
        plain = result.metrics
    elif hasattr(result, "to_dict"):
        plain = {k: v for k, v in result.to_dict().items() if k not in AGAIN}
    else:
        plain = result
    return {path: number.hex() for path, number in numbers(plain)}


def main() -> None:
    """Record, or compare and list the cases that differ."""
    action, file = sys.argv[1], Path(sys.argv[2])
    if action == "record":
        found = {name: measured(name) for name in CASES}
        file.write_text(json.dumps(found, indent=0) + "\n")
        print(f"{len(found)} problems, {sum(map(len, found.values()))} numbers recorded")
        return
    known, equal, count = json.loads(file.read_text()), 0, 0
    for name, before in known.items():
        now = measured(name)
        same = now == before
        equal, count = equal + same, count + len(before)
        if not same:
            shared = [path for path in before if path in now]
            apart = [p for p in shared if before[p] != now[p]]
            sizes = [_deviation(before[p], now[p]) for p in apart]
            print(
                f"{name}: {len(apart)} of {len(before)} numbers differ, by up to "
                f"{max(sizes, default=0.0):.1e}; {len(before) - len(shared)} are missing, "
                f"{len(now) - len(shared)} are new"
            )
    print(f"{equal} of {len(known)} problems have the same bits ({count} numbers)")
    sys.exit(equal < len(known))


def _deviation(before: str, now: str) -> float:
    old, new = float.fromhex(before), float.fromhex(now)
    return abs(new - old) / (abs(old) or 1.0)


if __name__ == "__main__":
    main()
