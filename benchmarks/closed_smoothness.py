"""Whether theory without draws is smooth along sliders of every continuous field.

    python benchmarks/closed_smoothness.py [POINTS]

Along a slider of so many points the test error of network and Hermite model should be a smooth
curve; where the rules of its types change, it jumps a little. Printed for every field and setting:
the largest jump, |f(x) − the cubic through the four neighbours of x|/f, in per cent.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np

from onegrad import Problem
from onegrad.describe.numbers import Floats
from onegrad.verbs.predict import predict_curve

TEACHERS: dict[str, dict[str, Any]] = {
    "spikes": {"kind": "index", "direction": "spikes", "noise": 0.1},
    "random": {"kind": "index", "direction": "random", "noise": 0.1},
    "classes": {"kind": "labels"},
}
LEVELS = "data.components.0.level"


def sliders(points: int) -> dict[str, dict[str, list[Any]]]:
    """Return the values of every field, by name; some move together."""
    unit = np.linspace(0.02, 0.98, points)
    weights = np.linspace(0.05, 0.95, points)
    log = [round(float(v)) for v in np.geomspace(200, 5000, points)]
    return {
        "strength": {"scaling.strength": unit.tolist()},
        "weighting": {"scaling.weighting": unit.tolist()},
        "width": {"network.width": log},
        "samples": {"readout.samples": log},
        "step samples": {"training.samples": log},
        "ridge": {"readout.ridge": np.geomspace(1e-6, 1, points).tolist()},
        "weight": {
            "data.components.0.weight": weights.tolist(),
            "data.components.1.weight": (1 - weights).tolist(),
        },
        "alignment": {"data.alignment": np.linspace(-0.98, 0.98, points).tolist()},
        "level": {LEVELS: np.geomspace(0.25, 4, points).tolist()},
        "mean": {
            "data.components.0.mean": np.linspace(0.05, 3, points).tolist(),
            "data.components.1.mean": (-np.linspace(0.05, 3, points)).tolist(),
        },
        "noise": {"teacher.noise": np.linspace(0.0, 1, points).tolist()},
        "dimension": {"dimension": log},
    }


def jumps(values: Floats) -> Floats:
    """Return |f − cubic through the four neighbours|/f, along the first axis."""
    near = values[1:-3] + values[3:-1]
    far = values[:-4] + values[4:]
    middle = values[2:-2]
    return np.abs(middle - (4 * near - far) / 6) / middle


def main() -> None:
    """Print the largest jump of every slider."""
    points = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    warnings.simplefilter("ignore")
    worst = 0.0
    for kind, teacher in TEACHERS.items():
        for activation in ("relu", "tanh"):
            problem = Problem(
                teacher=teacher,
                network={"width": 1000, "activation": activation},
                training={"samples": 1000},
                data={"components": [{"weight": 0.5}, {"weight": 0.5}]},
            )
            for name, over in sliders(points).items():
                curve = predict_curve(
                    problem, over=over, models="network,hermite:3", method="closed"
                )
                found = jumps(curve.metrics["test_mse"][0, :, :, 0].T)
                place = np.unravel_index(int(np.argmax(found)), found.shape)
                at = next(iter(over.values()))[int(place[0]) + 2]
                largest = 100 * found.max(axis=0)
                worst = max(worst, float(largest.max()))
                print(
                    f"{kind:8s} {activation:5s} {name:13s} network {largest[0]:.3f} %, Hermite "
                    f"{largest[1]:.3f} %, at {at:.4g}",
                    flush=True,
                )
    print(f"largest jump {worst:.2f} %")


if __name__ == "__main__":
    main()
