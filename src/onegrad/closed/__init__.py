"""The closed theory: errors after one step without drawing a network.

No matrix grows with n, k or m. The equations share no code with the simulation, so that agreement
with it is evidence; `problem.py` alone reads a `Problem`. docs/closed.md derives every formula.

May import: describe, calculus. Read first: `setting.py`.
"""
