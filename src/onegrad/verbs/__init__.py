"""The public functions on a problem: simulate, predict, observe, compare, tune.

May import: all folders above. Read first: `simulate.py`.
"""
