"""Errors of ridge regression from Ω, ψ and E y²: the deterministic equivalent for one type.

κ > 0 solves κ = λ + (κ/m) Tr Ω(Ω+κ)^{-1}; then

    test MSE  = [E y² − ψᵀ(Ω+κ)^{-1}ψ − κ ψᵀ(Ω+κ)^{-2}ψ] / [1 − (1/m) Tr Ω²(Ω+κ)^{-2}]
    train MSE = (λ/κ)² · test MSE
    E‖ŵ‖²     = ψᵀ(Ω+κ)^{-2}ψ + (test MSE/m) Tr Ω(Ω+κ)^{-2}
"""

import numpy as np
from scipy.optimize import brentq


def single_type_errors(omega, psi, label_power, *, samples, ridge):
    """Return the errors by name; features are divided by √k."""
    values, vectors = np.linalg.eigh(omega)
    values, squares = np.maximum(values, 0.0), (vectors.T @ psi) ** 2

    def excess(log_kappa):
        kappa = np.exp(log_kappa)
        return 1 - ridge / kappa - np.sum(values / (values + kappa)) / samples

    largest = ridge + 2 * values.sum() / samples  # κ Tr Ω(Ω+κ)^{-1} ≤ Tr Ω
    kappa = np.exp(brentq(excess, np.log(ridge), np.log(largest), xtol=1e-13))
    shifted = values + kappa
    form, squared = np.sum(squares / shifted), np.sum(squares / shifted**2)
    test = (label_power - form - kappa * squared) / (1 - np.sum((values / shifted) ** 2) / samples)
    train = (ridge / kappa) ** 2 * test
    norm = squared + test / samples * np.sum(values / shifted**2)
    return {
        "test_mse": test,
        "train_mse": train,
        "objective": 0.5 * train + 0.5 * ridge * norm,
        "squared_weight_norm": norm,
    }
