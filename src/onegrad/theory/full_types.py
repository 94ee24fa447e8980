"""Theory by types with a covariance each: features are heteroscedastic given the spikes.

Types t = (component, spike coordinates on a quadrature grid) with weights p_t; M_t = E[φφᵀ | t],
c_t = E[φy | t], features over √k. Then (reconstructed; one type gives the single-type formulas)

    Q = (λ + Σ_t p_t M_t/(1+δ_t))^{-1},  δ_t = Tr(M_t Q)/m
    w̄ = Q Σ_t p_t c_t/(1+δ_t),  e_t = E[y²|t] − 2w̄ᵀc_t + w̄ᵀM_t w̄
    ε_s = e_s + (1/m) Σ_t p_t Tr(M_s Q M_t Q) ε_t/(1+δ_t)²
    test MSE = Σ p_t ε_t,  train MSE = Σ p_t ε_t/(1+δ_t)²
    E‖ŵ‖² = ‖w̄‖² + (1/m) Σ p_t Tr(Q M_t Q) ε_t/(1+δ_t)²

M_t is never stored: only the Hermite coefficients a_q of each type, q ≤ 2, the correlations R off
the spikes, and the diagonal of what is left.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.sparse.linalg import LinearOperator, gmres

from onegrad.data.mixture import Gaussian, Mixture
from onegrad.data.teacher import Teacher
from onegrad.data.teacher_sum import TeacherSum
from onegrad.describe.arrays import Floats
from onegrad.describe.exceptions import InvalidInput, NotConverged
from onegrad.models.conditioned_directions import extended_basis, leading_direction
from onegrad.models.feature_map import FeatureMap
from onegrad.models.laws import Law
from onegrad.theory.ridge import RidgeErrors
from onegrad.theory.spike_grid import spike_quadrature

DEGREE = 2
LABEL_DEGREE = 6
WEAK_STEP = 0.05  # share of a neuron's deviation along the step below which it is ignored
SMALLEST_SHARE = 1e-8  # of a neuron off the conditioned directions
LARGEST_LABEL_ERROR = 0.01  # of E y² by the grid, relative
TOLERANCE = 1e-9
MOST_ITERATIONS = 500
START = 10.0  # first guess of δ


@dataclass(frozen=True)
class Types:
    """The types of one component: weights, coefficients of features and labels, rows of F̂P⊥."""

    weights: Floats  # p_t, T
    coefficients: Floats  # â_q of the features, (DEGREE + 1) × T × k
    rest: Floats  # variance of features beyond DEGREE, noise included, T × k
    rows: Floats  # those of F̂P⊥, of length 1, k × n
    basis: Floats  # the conditioned directions, n × d
    label: Floats  # E[φy | t], T × k
    label_mean: Floats  # E[y | t], T
    label_power: Floats  # E[y² | t], T

    @cached_property
    def correlations(self) -> tuple[Floats, ...]:
        """R^{∘q} for q = 1 … DEGREE, R the neurons' correlations off the directions, k × k."""
        correlation = self.rows @ self.rows.T
        np.fill_diagonal(correlation, 1.0)
        return tuple(correlation**q for q in range(1, DEGREE + 1))


def component_types(
    gaussian: Gaussian,
    index: int,
    teacher: Teacher,
    feature_map: FeatureMap,
    first_layer: Floats,
    *,
    step_direction: Floats | None,
) -> Types:
    """Return the types of one component for a first layer and a model."""
    basis, projected = _conditioned(gaussian, first_layer, step_direction)
    off = first_layer - projected @ basis.T
    deviations = np.sqrt(gaussian.level) * np.linalg.norm(off, axis=1)
    if np.min(deviations) <= SMALLEST_SHARE * np.max(np.linalg.norm(first_layer, axis=1)):
        raise InvalidInput(
            f"method='full_types': dimension={len(basis)} leaves neurons nothing off the "
            f"{basis.shape[1]} conditioned directions; use method='single'"
        )
    variances = np.sum(basis * gaussian.covariance_times(basis), axis=0)
    seen = teacher.directions.T @ (basis * np.sqrt(variances))  # what the label reads, 0 or 1 row
    power = teacher.projected_variance(gaussian)
    loadings = projected * np.sqrt(variances)
    grid, weights = spike_quadrature(gaussian, loadings, deviations, seen, power=power)
    mean = np.zeros(len(basis)) if gaussian.mean is None else gaussian.mean
    coordinates = basis.T @ mean + grid * np.sqrt(variances)
    means = coordinates @ projected.T + off @ mean
    count, k = means.shape
    none = np.zeros((count * k, 0))
    law = Law(index, gaussian, means.ravel(), np.tile(deviations, count), none, none)
    a = feature_map.coefficients(law, LABEL_DEGREE).reshape(LABEL_DEGREE + 1, count, k)
    moment = feature_map.second_moment(law).reshape(count, k)
    kept = a[: DEGREE + 1]
    rest = np.maximum(moment - np.sum(kept**2, axis=0), 0.0) + feature_map.noise_variance
    rows = off * (np.sqrt(gaussian.level) / deviations)[:, None]
    label = _labels(gaussian, teacher, a, coordinates, basis, off, deviations)
    _warn_if_coarse(index, weights, label[2], teacher.second_moment(gaussian))
    return Types(gaussian.weight * weights, kept, rest, rows, basis, *label)


def _conditioned(
    gaussian: Gaussian, first_layer: Floats, step_direction: Floats | None
) -> tuple[Floats, Floats]:
    """Return the directions S that types are told apart by (spikes and step), and F̂S."""
    basis = extended_basis(gaussian.directions, step_direction)
    projected = first_layer @ basis
    if basis.shape[1] > gaussian.directions.shape[1]:
        # A weak step is left unconditioned: one node in its place would fix x along it.
        size = np.sqrt(np.mean(projected[:, -1] ** 2) / np.mean(np.sum(first_layer**2, axis=1)))
        if size < WEAK_STEP:
            return gaussian.directions, projected[:, :-1]
    return basis, projected


def _warn_if_coarse(index: int, weights: Floats, power: Floats, exact: float) -> None:
    """Warn where the grid's E y² of a component is too far from the exact one."""
    if abs(weights @ power - exact) > LARGEST_LABEL_ERROR * exact:
        warnings.warn(
            f"method='full_types': the grid of {len(weights)} types gives E y² of component "
            f"{index} with an error of {weights @ power / exact - 1:+.1%}; prefer method='single'",
            stacklevel=3,
        )


def _labels(
    gaussian: Gaussian,
    teacher: Teacher,
    a: Floats,
    coordinates: Floats,
    basis: Floats,
    off: Floats,
    deviations: Floats,
) -> tuple[Floats, Floats, Floats]:
    """Return E[φ_i y | t] (T × k), E[y | t] and E[y² | t]: Mehler in the part of ξᵀx off spikes."""
    directions = teacher.directions
    if directions.shape[1] == 0:
        value = teacher.coefficients(gaussian, 0)[0]
        same = np.full(len(coordinates), 1.0)
        return value * a[0], value * same, teacher.second_moment(gaussian) * same
    xi = directions[:, 0]
    rest = xi - basis @ (basis.T @ xi)
    mean = np.zeros(len(xi)) if gaussian.mean is None else gaussian.mean
    centre = coordinates @ (basis.T @ xi) + rest @ mean
    deviation = np.sqrt(gaussian.level) * np.linalg.norm(rest)
    g = teacher.coefficients_at(centre, np.full(len(centre), deviation), LABEL_DEGREE)
    r = gaussian.level * (off @ rest) / (deviations * max(deviation, 1e-300))
    label = sum(a[q] * g[q][:, None] * r**q for q in range(LABEL_DEGREE + 1))
    power = teacher.second_moment_at(centre, np.full(len(centre), deviation))
    return np.asarray(label), g[0], power


class _AllTypes:
    """All types together: weighted sums of M_t, and traces of M_t with a matrix."""

    def __init__(self, types: list[Types]) -> None:
        self.types = types
        self.k = types[0].rest.shape[1]
        self.weights = np.concatenate([t.weights for t in types])
        self.label = np.concatenate([t.label for t in types]) / np.sqrt(self.k)
        self.label_power = np.concatenate([t.label_power for t in types])
        self._ends = np.cumsum([len(t.weights) for t in types])[:-1]

    def total(self, factors: Floats) -> Floats:
        """Return Σ_t factors_t M_t, k × k."""
        out = np.zeros((self.k, self.k))
        for types, part in zip(self.types, np.split(factors, self._ends), strict=True):
            a = types.coefficients
            out += (a[0].T * part) @ a[0]
            for q, power in enumerate(types.correlations, start=1):
                out += power * ((a[q].T * part) @ a[q])
            out[np.diag_indices(self.k)] += part @ types.rest
        return out / self.k

    def traces(self, matrix: Floats) -> Floats:
        """Return Tr(M_t matrix) for every type."""
        traces = []
        for types in self.types:
            a = types.coefficients
            value = types.rest @ np.diagonal(matrix) + np.sum((a[0] @ matrix) * a[0], axis=1)
            for q, power in enumerate(types.correlations, start=1):
                value += np.sum((a[q] @ (power * matrix)) * a[q], axis=1)
            traces.append(value)
        return np.concatenate(traces) / self.k


def _inverse(matrix: Floats) -> Floats:
    factor, info = dpotrf(matrix, lower=1, overwrite_a=1)
    if info != 0:
        raise NotConverged("full_types: the matrix is singular; raise the ridge")
    lower, _ = dpotri(factor, lower=1, overwrite_c=1)
    full = np.tril(lower)
    return full + np.tril(full, -1).T


def _solve_delta(problem: _AllTypes, samples: float, ridge: float) -> tuple[Floats, Floats, int]:
    """Return δ, Q and the iterations: fixed point in log(1 + δ), Anderson-accelerated."""
    x = np.full(len(problem.weights), np.log1p(START))
    history: list[tuple[Floats, Floats]] = []
    for iteration in range(1, MOST_ITERATIONS + 1):
        matrix = problem.total(problem.weights * np.exp(-x))
        matrix[np.diag_indices(problem.k)] += ridge
        resolvent = _inverse(matrix)
        image = np.log1p(problem.traces(resolvent) / samples)
        residual = image - x
        if np.max(np.abs(residual)) < TOLERANCE:
            return np.expm1(image), resolvent, iteration
        history = [*history[-4:], (image, residual)]
        if len(history) > 1:
            images = np.array([h[0] for h in history])
            residuals = np.array([h[1] for h in history])
            steps = np.diff(residuals, axis=0)
            gamma = np.linalg.lstsq(steps.T, residuals[-1], rcond=None)[0]
            x = images[-1] - gamma @ np.diff(images, axis=0)
            if not np.all(np.isfinite(x)) or np.min(x) < 0:
                x = image
        else:
            x = image
    raise NotConverged(
        f"full_types: residual {np.max(np.abs(residual)):.1e} after {MOST_ITERATIONS} "
        "iterations; raise the ridge"
    )


def all_types(
    mixture: Mixture,
    teacher: Teacher,
    feature_map: FeatureMap,
    first_layer: Floats,
    *,
    initial: Floats,
) -> list[Types]:
    """Return the types of every component of positive weight; `initial` is F before the step."""
    several_parts = isinstance(teacher, TeacherSum) and len(teacher.terms) > 1
    if teacher.directions.shape[1] > 1 or several_parts:
        raise InvalidInput(
            "method='full_types': knows teachers of one direction; use method='single'"
        )
    wide = first_layer.astype(np.float64, copy=False)
    direction = leading_direction(wide - initial)
    return [
        component_types(gaussian, index, teacher, feature_map, wide, step_direction=direction)
        for index, gaussian in enumerate(mixture.components)
        if gaussian.weight > 0
    ]


def full_types_errors(types: list[Types], *, samples: int, ridge: float) -> RidgeErrors:
    """Return the errors for one number of samples and one penalty, as 1 × 1 arrays."""
    problem = _AllTypes(types)
    p, m = problem.weights, float(samples)
    delta, resolvent, _ = _solve_delta(problem, m, ridge)
    shrink = 1 / (1 + delta)
    mean = resolvent @ ((p * shrink) @ problem.label)
    bias = problem.label_power - 2 * problem.label @ mean
    bias += problem.traces(np.outer(mean, mean))

    def spread(errors: Floats) -> Floats:
        return resolvent @ problem.total(p * shrink**2 * errors) @ resolvent

    def apply(errors: Floats) -> Floats:
        return errors - problem.traces(spread(errors)) / m

    operator = LinearOperator((len(p), len(p)), matvec=apply, dtype=float)
    errors, info = gmres(operator, bias, x0=bias, rtol=1e-8, atol=0.0, maxiter=20)
    if info != 0:
        raise NotConverged("full_types: the error equation did not converge")
    test, train = float(p @ errors), float(p @ (errors * shrink**2))
    norm = float(mean @ mean + np.trace(spread(errors)) / m)
    return RidgeErrors(
        test_mse=np.array([[test]]),
        train_mse=np.array([[train]]),
        squared_weight_norm=np.array([[norm]]),
        objective=np.array([[train / 2 + ridge * norm / 2]]),
    )
