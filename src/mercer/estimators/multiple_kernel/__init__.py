"""Sums of kernels whose weights are learnt from data."""
