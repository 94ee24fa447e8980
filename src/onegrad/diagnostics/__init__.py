"""What a network learns, seen from outside: overlaps, spectra, spikes, step by step.

May import: all folders above. Read first: `observer.py`.
"""
