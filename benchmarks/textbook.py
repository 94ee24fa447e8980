"""One trial of panel 1a written the plain way, as a notebook would: the baseline of cost.py.

Data and dense n×n square roots once per trial; then for every model its own products, its k×k Gram
matrix and solve, and 5m sampled test points, in float64. It imports nothing of onegrad.
"""

from __future__ import annotations

from math import factorial

import numpy as np
from numpy.polynomial import hermite_e
from scipy.linalg import sqrtm
from scipy.special import expit

ACTIVATIONS = {
    "relu": (lambda u: np.maximum(u, 0), lambda u: (u > 0).astype(float)),
    "tanh": (np.tanh, lambda u: 1 - np.tanh(u) ** 2),
    "sigmoid": (expit, lambda u: expit(u) * (1 - expit(u))),
}
DEGREE = 3


def draw_data(n, m, *, strength, weighting, rng):
    """Return the batches of step, training and test, and the trace of the mixture covariance."""
    theta = n ** (strength * (1 - weighting))
    spikes = [rng.standard_normal(n) for _ in range(2)]
    spikes = [g / np.linalg.norm(g) for g in spikes]
    covariances = [np.eye(n) + theta * np.outer(g, g) for g in spikes]
    roots = [sqrtm(c).real for c in covariances]
    mixture = (covariances[0] + covariances[1]) / 2
    xi = rng.standard_normal(n)
    xi /= np.linalg.norm(xi) * np.sqrt(np.linalg.norm(mixture, 2))

    def batch(size):
        inputs = np.concatenate([rng.standard_normal((size // 2, n)) @ root for root in roots])
        return inputs, np.maximum(inputs @ xi, 0)

    return batch(m), batch(m), batch(5 * m), np.trace(mixture)


def hermite_features(function, b, rng):
    """Return u ↦ Σ_j (h_j/j!) H_j(u/b) + h* z."""
    nodes, weights = hermite_e.hermegauss(120)
    weights = weights / weights.sum()
    basis = [hermite_e.hermeval(nodes, [0] * j + [1]) for j in range(DEGREE + 1)]
    h = [np.sum(weights * function(b * nodes) * basis[j]) for j in range(DEGREE + 1)]
    kept = sum(h[j] ** 2 / factorial(j) for j in range(DEGREE + 1))
    residual = np.sqrt(max(0.0, np.sum(weights * function(b * nodes) ** 2) - kept))
    series = [h[j] / factorial(j) for j in range(DEGREE + 1)]

    def features(u):
        return hermite_e.hermeval(u / b, series) + residual * rng.standard_normal(u.shape)

    return features


def run(widths, *, n=1000, m=1000, strength=0.74, weighting=0.5, ridge=1e-4, seed=0):
    """Return ½ test MSE by (activation, width, model)."""
    rng = np.random.default_rng(seed)
    step, train, test, trace = draw_data(n, m, strength=strength, weighting=weighting, rng=rng)
    eta, b = n ** (strength * weighting), np.sqrt(n / trace)
    errors = {}
    for name in ACTIVATIONS:
        function, derivative = ACTIVATIONS[name]
        for k in widths:
            for model in ("network", "hermite"):
                inputs, labels = step
                first = rng.standard_normal((k, n)) / np.sqrt(trace)
                second = rng.standard_normal(k) / np.sqrt(k)
                u = first @ inputs.T
                residual = labels - second @ function(u) / np.sqrt(k)
                gradient = (np.outer(second, residual) / np.sqrt(k) * derivative(u)) @ inputs / m
                first = first + eta * gradient

                features = function
                if model != "network":
                    features = hermite_features(function, b, rng)
                phi = features(train[0] @ first.T) / np.sqrt(k)
                gram = phi.T @ phi / m + ridge * np.eye(k)
                readout = np.linalg.solve(gram, phi.T @ train[1] / m)

                phi = features(test[0] @ first.T) / np.sqrt(k)
                errors[name, k, model] = 0.5 * np.mean((test[1] - phi @ readout) ** 2)
    return errors
