"""What one does with a problem: simulate, predict, observe, compare, tune.

`errors.py` has what simulate and predict return.

May import: all folders above. Read first: `simulation.py`.
"""
