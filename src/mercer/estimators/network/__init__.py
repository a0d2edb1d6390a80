"""Perceptrons and networks."""
