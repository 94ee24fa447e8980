"""The theory by types: errors from a few moments of every type of sample.

The equations draw nothing and train nothing, and share no code with the simulation.

May import: describe, calculus, data, moments. Read first: `equations.py`.
"""
