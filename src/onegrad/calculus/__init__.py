"""Functions of one variable, Gaussian expectations, quadrature, update rules, losses.

May import: describe, machine. Read first: `functions.py`.
"""
