"""This machine: worker processes with one BLAS thread each, signals, progress, speed, memory.

May import: describe. Read first: `pool.py`.
"""
