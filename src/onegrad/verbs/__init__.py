"""What one does with a problem: simulate, predict, compare degrees, tune; and the errors returned.

May import: all folders above. Read first: `simulation.py`.
"""
