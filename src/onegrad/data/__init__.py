"""Where inputs and labels come from: sources, the populations that they draw, teachers.

May import: describe, calculus. Read first: `source.py`.
"""
