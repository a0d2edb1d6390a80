"""Kernels on columns of tables."""
