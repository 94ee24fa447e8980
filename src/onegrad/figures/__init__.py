"""Figures as data: panels, tables from rows, pictures from tables, one report.

May import: all folders above. Read first: `panel.py`.
"""
