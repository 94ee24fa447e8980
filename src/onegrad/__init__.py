"""Two-layer networks after one gradient step."""
