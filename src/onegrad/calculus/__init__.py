"""Functions of one variable, Hermite coefficients, Gaussian expectations; update rules; spectra.

May import: describe, machine. Read first: `functions.py`.
"""
