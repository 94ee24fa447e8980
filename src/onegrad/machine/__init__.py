"""What this machine has: memory, speed, worker processes with one BLAS thread each, signals.

May import: describe. Read first: `pool.py`.
"""
