"""The pipeline of the paper: problem, draws, gradient steps, features, readout, errors of a trial.

May import: describe, machine, calculus, data, moments. Read first: `trial.py`.
"""
