"""Why a Hermite polynomial of a higher degree can be worse, and what measures it."""

from dataclasses import dataclass
from math import factorial

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss, hermeval

from conftest import small
from onegrad.core.models import NETWORK, HermiteModel, Model
from onegrad.moments.exact_errors import largest_reach, polynomial_misfit
from onegrad.moments.feature_laws import preactivation_laws
from theory_cases import single_type, train_first_layer


class OwnScaleMap:
    """σ's series up to a degree at each neuron's own law, the rest as noise: Hermite without b."""

    noise_variance, pair_function, degree = 0.0, None, None

    def __init__(self, network, last):
        self.network, self.last = network, last

    def basis(self, component):
        return None

    def coefficients(self, law, order):
        out = self.network.coefficients(law, order).copy()
        out[self.last + 1 :] = 0
        return out

    def second_moment(self, law):
        return self.network.second_moment(law)


@dataclass(frozen=True)
class OwnScaleModel(Model):
    """The model of that map."""

    last: int

    @property
    def key(self):
        return f"own:{self.last}"

    def feature_map(self, instance, layers, trained):
        return OwnScaleMap(NETWORK.feature_map(instance, layers, trained), self.last)


def drawn(problem, degrees):
    """Return the deviation b, the laws, the network's map and those of the degrees."""
    instance, layers, first = train_first_layer(problem)
    laws = preactivation_laws(instance.mixture, instance.teacher, first)
    models = [NETWORK, *(HermiteModel("hermite", d) for d in degrees)]
    network, *maps = [m.feature_map(instance, layers, first) for m in models]
    return instance.scales.bulk_deviation, laws, network, maps


@pytest.mark.parametrize("deviation", [1.2, 2.0])
def test_off_their_scale_hermite_polynomials_grow_with_their_degree(deviation):
    """E H_j(rz)²/j! has the generating function ((1 − t)(1 − (2r² − 1)t))^{-1/2} (Mehler)."""
    nodes, weights = hermegauss(120)
    weights = weights / weights.sum()
    powers = []
    for j in range(30):
        values = hermeval(deviation * nodes, [0] * j + [1])
        powers.append(float(weights @ values**2) / factorial(j))
    growth = 2 * deviation**2 - 1
    t = 0.3 / growth
    series = sum(power * t**j for j, power in enumerate(powers))
    closed = ((1 - t) * (1 - growth * t)) ** -0.5
    assert series == pytest.approx(closed, rel=1e-9)
    # So that they grow like (2r² − 1)^j/√j.
    assert powers[29] / powers[28] == pytest.approx(growth, rel=0.03)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_the_scale_error_is_a_distance_of_polynomials(activation):
    """By quadrature over one neuron's law: E(own series − Hermite polynomial)²/E σ²."""
    problem = small(network={"width": 1, "activation": activation}, scaling__strength=0.9)
    _, laws, network, (hermite,) = drawn(problem, [3])
    nodes, weights = hermegauss(80)
    weights = weights / weights.sum()
    error = power = 0.0
    for law in laws:
        own = network.coefficients(law, 3)[:, 0] / np.sqrt([factorial(j) for j in range(4)])
        u = law.means[0] + law.deviations[0] * nodes
        difference = hermeval(nodes, own) - hermite.expansion(u)
        error += law.gaussian.weight * float(weights @ difference**2)
        power += law.gaussian.weight * float(network.second_moment(law)[0])
    misfit = polynomial_misfit(laws, network, hermite)
    assert misfit.scale_error == pytest.approx(error / power, rel=1e-8)


def test_at_its_own_scale_a_polynomial_has_no_misfit():
    problem = small(network__activation="hermite:2")
    _, laws, network, maps = drawn(problem, [2, 4])
    for hermite in maps:
        misfit = polynomial_misfit(laws, network, hermite)
        assert misfit.scale_error == pytest.approx(0, abs=1e-12)
        assert misfit.nonlinear_power == pytest.approx(1)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("direction", ["random", "spikes"])
def test_the_scale_alone_makes_a_higher_degree_worse(activation, direction):
    """At (β, α) = (1, 0) degree 4 (3) is worse than 2 (1) at b, and better at each neuron's scale.

    The negative control of the reason: only the scale of the expansion differs.
    """
    low, high = (2, 4) if activation == "relu" else (1, 3)
    problem = small(
        dimension=150,
        readout__samples=150,
        network={"width": 150, "activation": activation},
        scaling={"strength": 1.0, "weighting": 0.0},
        teacher__direction=direction,
    )
    b, laws, network, maps = drawn(problem, [low, high])
    assert largest_reach(laws) > 2 * b
    errors = [polynomial_misfit(laws, network, hermite).scale_error for hermite in maps]
    assert errors[1] > 2 * errors[0]
    at_bulk = [HermiteModel(f"hermite:{d}", d) for d in (low, high)]
    own = [OwnScaleModel(f"own:{d}", d) for d in (low, high)]
    network_error = single_type(problem)["test_mse"]
    gap = {
        model.name: abs(single_type(problem, model)["test_mse"] - network_error)
        for model in (*at_bulk, *own)
    }
    assert gap[f"hermite:{high}"] > 1.2 * gap[f"hermite:{low}"]
    assert gap[f"own:{high}"] < 0.5 * gap[f"own:{low}"]
