"""Equations of the theory alone: nothing is drawn, trained or tested here.

May import: describe, calculus, data, models, moments. Read first: `ridge_by_types.py`.
"""
