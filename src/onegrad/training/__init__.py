"""Training: draws by stream, layers, the step, the readout, and what trials can reuse.

May import: describe, calculus, data, problem. Read first: `step.py`.
"""
