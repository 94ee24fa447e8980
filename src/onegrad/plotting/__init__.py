"""Pictures of results and panels: views as plain data, and one renderer for matplotlib.

matplotlib is imported when something is drawn.

May import: describe. Read first: `view.py`.
"""
