"""Theory: the errors without training anything."""
