"""Theory without draws where it was open: second layers, given directions, counts, strong spikes.

    python benchmarks/closed_open_points.py [TRIALS] [SEED] [WORKERS] [POINT ...]

For each point, or those whose names begin with POINT, one to six settings at n = 400, network,
Hermite model and untrained network: predicted value, the trials' mean with its standard error, the
deviation, `theory_error`, the processor time of one prediction with warm caches, and the notes. A
star marks a deviation beyond `theory_error` and two standard errors without a note. At the end a
row per point, over all of its settings and models.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np

from closed_problems import METRICS, MODELS, both
from onegrad import Problem, simulate
from onegrad.closed.problem import ClosedProblem, predict_closed

N = 400
LABELS = {"kind": "labels"}
SPIKES = {"direction": "spikes"}
MODERATE, STRONG, SPREAD = (0.9, 0.5), (1.0, 1.0), (0.9, 0.2)  # exponents (β, α)
SHORT = {"squared_weight_norm": "‖ŵ‖²", "misclassification": "wrong"}


@dataclass(frozen=True)
class Setting:
    """One problem of a point."""

    point: str
    name: str
    problem: Problem


@dataclass(frozen=True)
class Comparison:
    """One metric of one model."""

    metric: str
    gap: float  # predicted over simulated, less 1
    stderr: float
    theory_error: float
    noted: bool
    seconds: float

    @property
    def beyond(self) -> bool:
        """Whether it is further off than said."""
        return abs(self.gap) > self.theory_error + 2 * self.stderr


def described(exponents: tuple[float, float], **changes: Any) -> Problem:
    """Return the problem that all settings are changes of."""
    return Problem(
        dimension=N,
        readout={"samples": N, "ridge": 1e-2},
        network={"width": int(0.6 * N)},
        training={"samples": N},
        scaling={"strength": exponents[0], "weighting": exponents[1]},
    ).replace(**changes)


def settings() -> Iterator[Setting]:
    """Yield all settings, point by point."""
    for point, cases in (
        ("misclassification", _misclassification()),
        ("norm under exact counts", _counts()),
        ("second layers", _second_layers()),
        ("given directions", _given()),
        ("uniform strengths", _uniform()),
        ("rows of norm 1", _rows()),
        ("random overlap", _overlaps()),
        ("several strong spikes", _ranks()),
        ("few step samples", _few_samples()),
    ):
        for name, problem in cases.items():
            yield Setting(point, name, problem)


def _misclassification() -> dict[str, Problem]:
    apart = [{"weight": 0.5, "mean": mean, "label": mean} for mean in (1.0, -1.0)]
    return {
        "classes, spread alone": described(SPREAD, teacher=LABELS),
        "classes with means, tanh": described(
            MODERATE, teacher=LABELS, data={"components": apart}, network__activation="tanh"
        ),
        "signs along the spikes": described(MODERATE, teacher={"kind": "sign", **SPIKES}),
        "flipped signs, strong step": described(STRONG, teacher={"kind": "sign", "flips": 0.1}),
    }


def _counts() -> dict[str, Problem]:
    return {
        f"{activation}, ridge {ridge}": described(
            MODERATE, teacher=LABELS, readout__ridge=ridge, network__activation=activation
        )
        for activation, ridge in (("relu", 1.0), ("sigmoid", 1.0), ("tanh", 1.0), ("relu", 0.1))
    }


def _second_layers() -> dict[str, Problem]:
    return {
        f"{layer}, {activation}, (β, α) = {exponents}": described(
            exponents,
            teacher=SPIKES,
            network__second_layer=layer,
            network__activation=activation,
        )
        for exponents in (MODERATE, STRONG)
        for layer in ("sign", "constant")
        for activation in ("relu", "tanh", "sigmoid")
    }


def _given() -> dict[str, Problem]:
    rng = np.random.default_rng(17)
    spikes = np.linalg.qr(rng.standard_normal((N, 2)))[0]
    spikes[:, 1] = 0.6 * spikes[:, 0] + 0.8 * spikes[:, 1]
    direction = spikes[:, 0] + 0.5 * rng.standard_normal(N) / np.sqrt(N)
    own = [{"weight": 0.5, "directions": spikes[:, i : i + 1]} for i in range(2)]
    return {
        "spikes and ξ": described(
            SPREAD, teacher={"direction": direction}, data={"components": own}
        ),
        "spikes, ξ along them, tanh": described(
            SPREAD, teacher=SPIKES, data={"components": own}, network__activation="tanh"
        ),
        "ξ alone, strong step": described(STRONG, teacher={"direction": direction}),
    }


def _uniform() -> dict[str, Problem]:
    one = {"components": [{"weight": 0.5, "strengths": "uniform"}] * 2}
    two = {"components": [{"weight": 0.5, "strengths": "uniform", "rank": 2}] * 2}
    return {
        "rank 1": described(MODERATE, teacher=SPIKES, data=one),
        "rank 1, strong spikes, tanh": described(
            SPREAD, teacher=SPIKES, data=one, network__activation="tanh"
        ),
        "rank 2": described(MODERATE, teacher=SPIKES, data=two),
    }


def _rows() -> dict[str, Problem]:
    changes = {"network__normalise_rows": True}
    return {
        "strong spikes": described(SPREAD, teacher=SPIKES, **changes),
        "strong step, tanh": described(STRONG, network__activation="tanh", **changes),
    }


def _overlaps() -> dict[str, Problem]:
    three = [{"weight": weight} for weight in (0.4, 0.3, 0.3)]
    return {
        "θ·axes/n = 0.4": described(SPREAD),
        "θ = n, tanh": described((1.0, 0.0), network__activation="tanh"),
        "three components": described(SPREAD, data={"components": three}),
    }


def _ranks() -> dict[str, Problem]:
    def of(rank: int, exponents: tuple[float, float], **changes: Any) -> Problem:
        own = [{"weight": 0.5, "rank": rank, "label": label} for label in (1.0, -1.0)]
        return described(exponents, data={"components": own}, **changes)

    cases = {}
    for rank in (2, 3):
        cases |= {
            f"rank {rank}, classes": of(rank, (0.74, 0.0), teacher=LABELS),
            f"rank {rank}, ξ along them": of(rank, (1.0, 0.0), teacher=SPIKES),
            f"rank {rank}, ξ along them, tanh": of(
                rank, (0.74, 0.0), teacher=SPIKES, network__activation="tanh"
            ),
            f"rank {rank}, ξ random": of(rank, (0.74, 0.0)),
        }
    return cases


def _few_samples() -> dict[str, Problem]:
    return {
        f"m̃ = n/{share}, (β, α) = {exponents}, {activation}": described(
            exponents,
            training__samples=N // share,
            network__activation=activation,
            teacher=teacher,
        )
        for share in (2, 4)
        for exponents in ((0.74, 0.5), STRONG)
        for activation, teacher in (("relu", {"direction": "random"}), ("tanh", SPIKES))
    }


def compared(setting: Setting, trials: int, seed: int, workers: int) -> list[Comparison]:
    """Print a line per model and metric; return what was compared."""
    trained = simulate(setting.problem, list(MODELS), trials=trials, seed=seed, workers=workers)
    closed = ClosedProblem.of(setting.problem)
    models = closed.models(MODELS)
    print(f"{setting.point}: {setting.name}", flush=True)
    rows = []
    for i, model in enumerate(models):
        predict_closed([(closed, [model])])  # fills caches
        start = process_time()
        (found,) = predict_closed([(closed, [model])])
        seconds = process_time() - start
        own, notes = found.metrics[model.name], found.notes
        error = float(own["theory_error"][0])
        print(f"  {model.name}: theory_error {100 * error:.1f} %, {1e3 * seconds:.0f} ms")
        for note in notes:
            print(f"    note: {note}")
        for metric, (value, mean, stderr) in both(own, trained, i).items():
            row = Comparison(metric, value / mean - 1, stderr / mean, error, bool(notes), seconds)
            rows.append(row)
            star = " *" if row.beyond and not notes else ""
            print(
                f"    {SHORT.get(metric, metric)} {value:.5g}, simulated {mean:.5g} ± "
                f"{stderr:.2g}: {100 * row.gap:+.2f} ± {100 * row.stderr:.2f} %{star}",
                flush=True,
            )
    return rows


def summarise(point: str, rows: list[Comparison]) -> None:
    """Print a row of a table: weighted mean and largest deviation by metric, what is beyond, time.

    Beyond are deviations of more than `theory_error` and two standard errors, of all metrics.
    """
    cells = []
    for metric in METRICS:
        own = [row for row in rows if row.metric == metric]
        if not own:
            cells.append("")
            continue
        weights = np.array([1 / (row.stderr**2 + 0.005**2) for row in own])
        mean = float(weights @ [row.gap for row in own] / weights.sum())
        worst = max(own, key=lambda row: abs(row.gap))
        cells.append(f"{100 * mean:+.2f} %, {100 * worst.gap:+.1f} ± {100 * worst.stderr:.1f} %")
    beyond = [row for row in rows if row.beyond]
    silent = sum(not row.noted for row in beyond)
    cells.append(f"{len(beyond)} of {len(rows)}, {silent} without a note")
    cells.append(f"{1e3 * max(row.seconds for row in rows):.0f} ms")
    print(f"| {point} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print every setting's comparisons, then a row per point."""
    given = dict(enumerate(sys.argv[1:]))
    trials, seed, workers = (int(given.get(i, d)) for i, d in enumerate(("48", "1", "2")))
    chosen = tuple(sys.argv[4:])
    warnings.simplefilter("ignore")
    table: dict[str, list[Comparison]] = {}
    for index, setting in enumerate(settings()):  # draws of its own for each
        if not chosen or setting.point.startswith(chosen):
            rows = compared(setting, trials, seed + index, workers)
            table.setdefault(setting.point, []).extend(rows)
    print(f"| point | {' | '.join(SHORT.get(m, m) for m in METRICS)} | beyond | slowest |")
    for point, rows in table.items():
        summarise(point, rows)


if __name__ == "__main__":
    main()
