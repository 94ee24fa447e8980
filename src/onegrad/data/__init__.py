"""Sources of inputs and labels: mixtures, real data, teachers.

May import: describe, calculus. Read first: `source.py`.
"""
