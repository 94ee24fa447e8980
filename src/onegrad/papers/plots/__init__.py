"""Pictures of panels from their tables, one file per idea, in the style of `drawing`.

May import: describe, drawing, figures.panel, figures.tables. Read first: `curve_plot.py`.
"""
