"""Pictures of panels from their tables, one file per idea; alone here matplotlib is imported.

May import: figures.panel, figures.giant_study. Read first: `curve_plot.py`.
"""
