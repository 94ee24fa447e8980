"""Giant steps: teachers of several directions, several steps on fresh batches, and diagnostics."""
