"""Why a higher Hermite degree can be worse: σ expanded at b, and at every neuron's own deviation.

    python benchmarks/own_scale.py [--dimension 300] [--draws 4]

Prints for 28 settings and every degree the gap of the Hermite model to the network, that of the
same model made at each neuron's own law, and the two numbers by which `equivalence` explains it.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

from onegrad import Problem
from onegrad.models.feature_map import FeatureMap
from onegrad.models.hermite import HermiteModel
from onegrad.models.laws import Law
from onegrad.models.model import Model
from onegrad.models.network import NETWORK
from onegrad.verbs.degree_reason import scale_of
from onegrad.verbs.errors import collect
from onegrad.verbs.predicted_draw import predict_draw

DEGREES = {"relu": (1, 2, 4, 6), "tanh": (1, 3, 5), "sigmoid": (1, 3, 5)}
SQUARE = (  # activation, (β, α), direction of ξ; as many samples and neurons as inputs
    *(("relu", (1.0, 0.0), "random"), ("relu", (1.0, 0.0), "spikes")),
    *(("relu", (0.74, 0.0), "spikes"), ("relu", (0.74, 0.5), "spikes")),
    *(("relu", (1.0, 1.0), "spikes"), ("relu", (0.3, 0.5), "random")),
    *(("tanh", (1.0, 0.0), "random"), ("tanh", (0.74, 0.0), "spikes")),
    *(("tanh", (0.74, 0.5), "random"), ("tanh", (1.0, 1.0), "spikes")),
)
EXPONENTS = ((0.74, 0.5), (0.9, 0.0), (1.0, 0.5))


@dataclass(frozen=True)
class OwnScaleMap:
    """The network's series up to a degree at each neuron's own law; the rest is noise."""

    network: FeatureMap
    last: int
    noise_variance = 0.0
    pair_function = None
    degree = None

    def basis(self, component: int) -> None:
        """No spike coordinates are needed."""

    def coefficients(self, law: Law, order: int) -> np.ndarray:
        """Return the network's up to the degree, 0 above."""
        out = self.network.coefficients(law, order).copy()
        out[self.last + 1 :] = 0
        return out

    def second_moment(self, law: Law) -> np.ndarray:
        """Return the network's: what is left out is noise of the same power."""
        return self.network.second_moment(law)


@dataclass(frozen=True)
class OwnScaleModel(Model):
    """The model of that map."""

    last: int

    @property
    def key(self) -> str:
        """The degree alone matters."""
        return f"own:{self.last}"

    def feature_map(self, *drawn: Any) -> Any:
        """Return the map on top of the network's."""
        return OwnScaleMap(NETWORK.feature_map(*drawn), self.last)


def settings(n: int) -> Iterator[tuple[str, Problem]]:
    """Yield the name and problem of every setting."""
    for activation, (beta, alpha), direction in SQUARE:
        yield (
            f"{activation}, β = {beta}, α = {alpha}, ξ {direction}",
            _problem(n, n, activation, beta, alpha, teacher={"direction": direction}),
        )
    for activation in DEGREES:
        for beta, alpha in EXPONENTS:
            name = f"{activation}, β = {beta}, α = {alpha}"
            exponents = (activation, beta, alpha)
            yield f"classes, {name}", _problem(n, 2 * n, *exponents, teacher={"kind": "labels"})
            yield f"noise, {name}", _problem(n, 3 * n, *exponents, teacher={"noise": 0.2})


def _problem(
    n: int, samples: int, activation: str, beta: float, alpha: float, **fields: Any
) -> Problem:
    return Problem(
        dimension=n,
        readout={"samples": samples},
        network={"width": n, "activation": activation},
        scaling={"strength": beta, "weighting": alpha},
        **fields,
    )


def main() -> None:
    """Print a block per setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dimension", type=int, default=300)
    parser.add_argument("--draws", type=int, default=4)
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    falls = count = 0
    for name, problem in settings(given.dimension):
        degrees = DEGREES[problem.network.activation]
        models = [NETWORK, *(HermiteModel(f"hermite:{d}", d) for d in degrees)]
        models += [OwnScaleModel(f"own:{d}", d) for d in degrees]
        trials = [
            predict_draw(problem, models, method="single", trial=t) for t in range(given.draws)
        ]
        gap = collect(problem, models, trials, seed=0, predicted=True).gap()
        assert gap is not None
        mean, error = 100 * gap.mean[1:, 0], 100 * gap.stderr[1:, 0]
        print(name)
        for i, (degree, misfit) in enumerate(
            zip(degrees, scale_of(problem, degrees, seed=0).misfits, strict=True)
        ):
            own = i + len(degrees)
            print(
                f"  degree {degree}: at b {mean[i]:+9.3f} ± {error[i]:.3f} %, own {mean[own]:+9.3f}"
                f" ± {error[own]:.3f} %, scale error {misfit.scale_error:.3g}, nonlinear power "
                f"{misfit.nonlinear_power:.4g}",
                flush=True,
            )
        sizes = np.abs(mean[len(degrees) :])
        count, falls = count + 1, falls + bool(np.all(np.diff(sizes) < 1e-3))
    print(f"own scale: the gap falls with the degree (to 0.001 %) in {falls} of {count} settings")


if __name__ == "__main__":
    main()
