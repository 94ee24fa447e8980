"""Real data: rows of arrays and files, how they are prepared, and mixtures fitted to them.

May import: describe, calculus, data. Read first: `empirical.py`.
"""
