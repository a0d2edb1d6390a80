"""Formulas of the kernels in plain Python, and Hypothesis strategies for what they take."""
