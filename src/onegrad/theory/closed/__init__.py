"""Theory without draws: the errors after one step from types of samples and types of neurons.

Nothing is drawn, and no matrix grows with n, k or m. It shares no code with what trains, so that
agreement with simulation is evidence. docs/closed.md derives every formula.

May import: describe, calculus. Read first: `setting.py`.
"""
