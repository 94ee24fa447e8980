"""Population moments of features: exact test errors, Ω and ψ, by Hermite series over pairs.

May import: describe, machine, calculus, data. Read first: `exact_errors.py`.
"""
