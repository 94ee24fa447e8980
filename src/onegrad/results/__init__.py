"""Results as values: errors, equivalence, tuned problems, observed steps.

May import: describe, plotting, core, theory. Read first: `errors.py`.
"""
