"""The panels: declarative entries, no code of their own.

May import: figures.panel, figures.giant_study. Read first: `paper.py`.
"""
