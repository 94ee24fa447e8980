"""Functions of one variable: activations, links, their Hermite coefficients and expectations.

May import: describe. Read first: `functions.py`.
"""
