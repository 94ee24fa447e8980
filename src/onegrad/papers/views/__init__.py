"""Interactive views of panels from their tables: curves, points and maps as plain data.

A view says what a picture shows, as numbers with names; the report's script draws it.

May import: describe, figures.panel, figures.tables. Read first: `view.py`.
"""
