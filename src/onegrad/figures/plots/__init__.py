"""Pictures of panels from their tables, one file per idea; alone here matplotlib is imported.

May import: describe, figures.panel. Read first: `curve_plot.py`.
"""
