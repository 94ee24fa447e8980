"""Giant steps: several steps on fresh batches, teachers of several directions, diagnostics.

May import: all folders above. Read first: `take.py`.
"""
