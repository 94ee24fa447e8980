"""Tables of panels from their rows, one file per idea, and what is read off them.

Rows come from sweeps, observed ones too; tables have the same columns.

May import: all folders above figures, figures.panel. Read first: `panel_table.py`.
"""
