"""Pictures of results from plain tables: one style for `.plot()`, `onegrad plot` and panels.

matplotlib is imported when something is drawn.

May import: describe. Read first: `curves_picture.py`.
"""
