"""The problem: one frozen value that holds everything that determines a trial.

May import: describe, calculus, data. Read first: `problem.py`.
"""
