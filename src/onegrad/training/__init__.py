"""Training: draws by stream, batches, layers, the steps, the readout, what trials can reuse.

May import: describe, machine, calculus, data, problem. Read first: `run.py`.
"""
