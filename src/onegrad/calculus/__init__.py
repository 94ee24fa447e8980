"""Functions of one variable, Hermite coefficients, expectations; update rules; losses; spectra.

May import: describe, machine. Read first: `functions.py`.
"""
