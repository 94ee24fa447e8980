"""Tables of panels from their rows, one file per idea, and what is read off them.

Rows come from sweeps, or from runs of giant steps; tables have the same columns.

May import: figures.panel, figures.giant_study, figures.giant_runs. Read first: `panel_table.py`.
"""
