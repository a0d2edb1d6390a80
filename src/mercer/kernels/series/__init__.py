"""Kernels of time series."""
