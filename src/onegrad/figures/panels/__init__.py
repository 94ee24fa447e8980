"""The panels: declarative entries, no code of their own.

May import: figures.panel. Read first: `paper.py`.
"""
