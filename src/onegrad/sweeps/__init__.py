"""Sweeps: settings × trials as jobs on engines, rows in a store, tables of rows.

May import: all folders above. Read first: `driver.py`.
"""
