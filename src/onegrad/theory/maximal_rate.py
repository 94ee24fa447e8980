"""The limit at the maximal learning rate (Cui et al. [3]), as published and corrected.

Isotropic Gaussian inputs, y = σ_*(ξᵀx) with ‖ξ‖ = 1, rows of F normalised, w = 1/√k, odd σ and
F̂ = F + η̃ k G. With z ~ N(0, 1):

    h_1 = E[zσ], h_3 = E[H_3σ], ȟ = E(σ' − h_1)², g_1 = E[zσ_*], g_2 = Eσ_*², ρ = √(g_1² + g_2/α_0):
    spike r = η̃h_1ρ,  bulk c = 1 + η̃²g_2ȟ/α_0,  alignment γ = g_1/ρ,  α_0 = m̃/n.

Given the spike coordinate κ, features are μ_0 + μ_1·(linear) + μ_2·(noise) at rκ + √c z.
"corrected" is ours: the step's bulk is correlated with F, row i is scaled by 1 + η̃h_3ρ f_iᵀv, which
adds (η̃h_3ρ/c) Eσ''(rκ + √c z) to the coefficient B of the overlap θ.

It is a special case of theory without draws (`theory.closed`): one component without spikes, a
constant second layer, rows of norm 1, n → ∞. Both take the step's noise as isotropic for m̃ ≥ n;
for m̃ < n it lies in the span of the batch, which only the other knows.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from onegrad.calculus import functions
from onegrad.calculus.expectations import decays, hermite_coefficients, second_moment
from onegrad.calculus.function import Function
from onegrad.describe.exceptions import InvalidInput, NotConverged
from onegrad.describe.numbers import Floats, positive_number, positive_numbers
from onegrad.describe.tables import ShownAsTable, Table

REACH, STEP = 8.0, 0.05  # of the spike coordinate κ, in deviations
MOST_NODES = 20_000
LAW_NODES = 2000  # of the eigenvalue law of FFᵀ
LARGEST_RATE = 1e6
SMALLEST_SLOPE = 1e-8
TOLERANCE = 1e-11
MOST_ITERATIONS = 2000


@dataclass(frozen=True)
class LimitErrors:
    """Errors for one number of samples, and how the fixed point was found."""

    test_mse: float
    train_mse: float
    iterations: int
    residual: float


@dataclass(frozen=True, repr=False)
class Limit(ShownAsTable):
    """The limit's errors per sample ratio m/n, as published and with our correction."""

    sample_ratios: tuple[float, ...]
    published: tuple[LimitErrors, ...]
    corrected: tuple[LimitErrors, ...]

    def summary_table(self) -> Table:
        """Return a row per sample ratio, as `onegrad limit` shows it."""
        titles = ("m/n", "test MSE, published", "corrected", "train MSE, published", "corrected")
        rows = tuple(
            (
                f"{ratio:g}",
                *(f"{errors.test_mse:.6f}" for errors in (old, new)),
                *(f"{errors.train_mse:.6f}" for errors in (old, new)),
                f"{old.iterations}, {new.iterations}",
            )
            for ratio, old, new in zip(
                self.sample_ratios, self.published, self.corrected, strict=True
            )
        )
        return Table((*titles, "iterations"), rows, title="Limit at the maximal rate")

    def to_dict(self) -> dict[str, object]:
        """Return plain values: errors per sample ratio, for both versions."""
        named = {"published": self.published, "corrected": self.corrected}
        return {
            "sample_ratio": list(self.sample_ratios),
            **{
                name: {
                    "test_mse": [e.test_mse for e in errors],
                    "train_mse": [e.train_mse for e in errors],
                    "iterations": [e.iterations for e in errors],
                    "residual": [e.residual for e in errors],
                }
                for name, errors in named.items()
            },
        }


def maximal_rate_limit(
    activation: Function | str,
    target: Function | str,
    *,
    step_ratio: float,
    rate: float,
    width_ratio: float,
    sample_ratio: Sequence[float] | float,
    ridge: float,
) -> Limit:
    """Return the errors in the limit n → ∞ at fixed m̃/n, k/n and m/n.

    That of Cui et al. [3]; `rate` is η̃ and `ridge` λ in their convention: in ours η = η̃k and λ/m.
    """
    step_ratio = positive_number("step_ratio", step_ratio)
    rate = positive_number("rate", rate)
    width_ratio = positive_number("width_ratio", width_ratio)
    ridge = positive_number("ridge", ridge)
    ratios = tuple(positive_numbers("sample_ratio", sample_ratio))
    if step_ratio < 1:
        warnings.warn(
            f"theory: step_ratio={step_ratio:g}: the limit takes the step's noise as isotropic, "
            "and is 5 to 15 % too low at 0.25; use predict with method='closed' below 1",
            stacklevel=2,
        )
    sigma, link = _checked_functions(activation, target)
    versions = []
    for corrected in (False, True):
        given_spike = _conditional_functions(
            sigma, link, step_ratio=step_ratio, rate=rate, corrected=corrected
        )
        versions.append(tuple(_solve(given_spike, width_ratio, ratio, ridge) for ratio in ratios))
    return Limit(ratios, *versions)


def _checked_functions(
    activation: Function | str, target: Function | str
) -> tuple[Function, Function]:
    """Return σ and σ_*; raise InvalidInput where the limit does not hold for them."""
    sigma = functions.activation_of(activation)
    points = np.linspace(0.1, 6.0, 60)
    if np.max(np.abs(sigma(points) + sigma(-points))) > 1e-9:
        raise InvalidInput(
            f"activation={sigma.name!r}: must be odd, the limit assumes E[σ] = E[H_2σ] = 0; "
            "choose tanh, erf or sin"
        )
    link = functions.function_of(target, field="target")
    if not decays(link, np.zeros(1), np.ones(1)):
        raise InvalidInput(
            f"target={link.name!r}: has no finite second moment; choose one that grows more slowly"
        )
    return sigma, link


@dataclass(frozen=True)
class _GivenSpike:
    """Functions of the spike coordinate κ on nodes, with the nodes' weights."""

    weights: Floats
    mean: Floats  # μ_0
    slope: Floats  # μ_1
    noise: Floats  # μ_2²
    overlap: Floats  # B
    label: tuple[Floats, Floats, Floats]  # H_0, H_1, H_2
    bulk: float  # c

    def average(self, values: Floats) -> float:
        return float(self.weights @ values)


def _conditional_functions(
    sigma: Function, link: Function, *, step_ratio: float, rate: float, corrected: bool
) -> _GivenSpike:
    zero, unit = np.zeros(1), np.ones(1)
    a = hermite_coefficients(sigma, zero, unit, order=3)[:, 0]
    h1, h3 = a[1], a[3] * np.sqrt(6)
    derivative = Function("derivative", sigma.slope, kinks=sigma.kinks)
    spread = float(second_moment(derivative, zero, unit)[0]) - h1**2
    g1 = hermite_coefficients(link, zero, unit, order=1)[1, 0]
    g2 = float(second_moment(link, zero, unit)[0])
    if rate > LARGEST_RATE:
        raise InvalidInput(f"rate={rate:g}: must be at most {LARGEST_RATE:g}; lower it")
    rho = np.sqrt(g1**2 + g2 / step_ratio)
    spike, bulk = rate * h1 * rho, 1 + rate**2 * g2 * spread / step_ratio
    gamma = g1 / rho
    if abs(h1) < SMALLEST_SLOPE:
        raise InvalidInput(
            f"activation={sigma.name!r}: must have E[zσ(z)] ≠ 0, the step leaves no spike "
            "otherwise; choose tanh, erf or sin"
        )
    nodes, weights = _spike_rule(spike / np.sqrt(bulk))
    means, deviations = spike * nodes, np.full(len(nodes), np.sqrt(bulk))
    b = hermite_coefficients(sigma, means, deviations, order=2)
    slope = b[1] / np.sqrt(bulk)
    noise = np.maximum(second_moment(sigma, means, deviations) - b[0] ** 2 - b[1] ** 2, 0.0)
    overlap = nodes * slope
    if corrected:
        overlap = overlap + rate * h3 * rho / bulk * (np.sqrt(2) * b[2] / bulk)
    label_deviation = np.full(len(nodes), np.sqrt(max(1 - gamma**2, 0.0)))
    label = hermite_coefficients(link, gamma * nodes, label_deviation, order=1)
    power = second_moment(link, gamma * nodes, label_deviation)
    return _GivenSpike(
        weights / weights.sum(), b[0], slope, noise, overlap, (label[0], label[1], power), bulk
    )


def _spike_rule(steepness: float) -> tuple[Floats, Floats]:
    """Return nodes and weights for κ ~ N(0, 1): as fine as functions of steepness·κ ask for."""
    step = min(STEP, 0.4 / max(abs(steepness), 1e-300))
    count = 2 * REACH / step
    if not count <= MOST_NODES:
        raise InvalidInput(
            f"rate: makes a spike {abs(steepness):.3g} times as large as the bulk, too steep to "
            "integrate over; lower it"
        )
    nodes = np.linspace(-REACH, REACH, int(count) + 1)
    return nodes, np.exp(-(nodes**2) / 2)


@dataclass
class _State:
    """Order parameters of the fixed point, in the letters of the paper."""

    q1: float = 1.0
    q2: float = 1.0
    v1: float = 1.0
    v2: float = 1.0
    m: float = 0.0
    theta: float = 0.0
    psi: float = 0.0
    names: ClassVar[tuple[str, ...]] = ("q1", "q2", "v1", "v2", "m", "theta", "psi")

    def values(self) -> Floats:
        return np.array([getattr(self, name) for name in self.names])


def _solve(f: _GivenSpike, width_ratio: float, sample_ratio: float, ridge: float) -> LimitErrors:
    """Iterate the state evolution until it stands still (Cui et al. [3], order parameters)."""
    ratios = (width_ratio, sample_ratio)
    law = marchenko_pastur(width_ratio)
    state, residual = _State(), np.inf
    for iteration in range(1, MOST_ITERATIONS + 1):
        try:
            new = _next_state(f, state, law, ratios=ratios, ridge=ridge)
        except (ArithmeticError, np.linalg.LinAlgError):
            raise InvalidInput(
                f"width_ratio={width_ratio:g}, sample_ratio={sample_ratio:g}, ridge={ridge:g}: the "
                "equations overflow; bring them nearer to 1"
            ) from None
        residual = float(np.max(np.abs(new.values() - state.values()) / (1 + np.abs(new.values()))))
        state = new
        if not np.isfinite(residual):
            break
        if residual < TOLERANCE:
            error, variance = _error(f, state)
            return LimitErrors(
                f.average(error), f.average(error / (1 + variance) ** 2), iteration, residual
            )
    raise NotConverged(
        f"limit at sample ratio {sample_ratio}: residual {residual:.1e} after {iteration} "
        "iterations; raise the ridge or lower the rate"
    )


def _next_state(
    f: _GivenSpike,
    state: _State,
    law: tuple[Floats, Floats],
    *,
    ratios: tuple[float, float],
    ridge: float,
) -> _State:
    """Return the order parameters that follow from a state; `law` is that of FFᵀ's eigenvalues."""
    width_ratio, sample_ratio = ratios
    eigenvalues, density = law
    spectrum = f.bulk * eigenvalues
    h0, h1, _ = f.label
    error, variance = _error(f, state)
    shrink = 1 / (1 + variance)
    per_width = sample_ratio / width_ratio
    qh1, qh2 = (per_width * f.average(p * error * shrink**2) for p in (f.slope**2, f.noise))
    vh1, vh2 = (per_width * f.average(p * shrink) for p in (f.slope**2, f.noise))
    s = ridge + vh1 * spectrum + vh2
    gain = sample_ratio * f.bulk * float(density @ (1 / s))
    mean, theta = _means(f, shrink, gain)
    prediction = f.mean * mean + f.overlap * theta
    theta_hat = sample_ratio * f.average(f.overlap * (h0 - prediction) * shrink)
    psi_hat = sample_ratio * f.average(h1 * f.slope * shrink)
    top = qh1 * spectrum + qh2
    top = top + (theta_hat**2 * f.bulk + psi_hat**2 * spectrum) / width_ratio
    return _State(
        q1=float(density @ (spectrum * top / s**2)),
        q2=float(density @ (top / s**2)),
        v1=float(density @ (spectrum / s)),
        v2=float(density @ (1 / s)),
        m=mean,
        theta=theta,
        psi=psi_hat * float(density @ (spectrum / s)),
    )


def _means(f: _GivenSpike, shrink: Floats, gain: float) -> tuple[float, float]:
    """Return (M, θ) for given V̂: both equations are linear, and solved together.

    M E[μ_0²/(1+V)] + θ E[μ_0B/(1+V)] = E[μ_0H_0/(1+V)],  θ = gain·E[B(H_0 − μ_0M − Bθ)/(1+V)].
    Iterating θ alone would overshoot when gain·E[B²] exceeds 1.
    """
    h0 = f.label[0]
    mixed = f.average(f.mean * f.overlap * shrink)
    matrix = np.array(
        [
            [f.average(f.mean**2 * shrink), mixed],
            [gain * mixed, 1 + gain * f.average(f.overlap**2 * shrink)],
        ]
    )
    right = np.array([f.average(f.mean * h0 * shrink), gain * f.average(f.overlap * h0 * shrink)])
    mean, theta = np.linalg.solve(matrix, right)
    return float(mean), float(theta)


def _error(f: _GivenSpike, state: _State) -> tuple[Floats, Floats]:
    """Return E(κ) and V(κ)."""
    h0, h1, h2 = f.label
    prediction = f.mean * state.m + f.overlap * state.theta
    variance = f.slope**2 * state.v1 + f.noise * state.v2
    error = h2 + prediction**2 - 2 * prediction * h0 - 2 * f.slope * state.psi * h1
    return error + f.slope**2 * state.q1 + f.noise * state.q2, variance


def marchenko_pastur(ratio: float) -> tuple[Floats, Floats]:
    """Return points and weights of the eigenvalue law of FFᵀ, F of k = ratio·n unit rows.

    x = 1 + y + 2√y cos φ turns the density into (2/π) sin²φ/x dφ; for y > 1 a share
    1 − 1/y is zero.
    """
    phi = np.pi * (np.arange(LAW_NODES) + 0.5) / LAW_NODES
    points = 1 + ratio + 2 * np.sqrt(ratio) * np.cos(phi)
    weights = 2 * np.sin(phi) ** 2 / points / LAW_NODES
    if ratio > 1:
        points, weights = np.append(points, 0.0), np.append(weights, 1 - 1 / ratio)
    return points, weights / weights.sum()
