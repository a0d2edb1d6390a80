"""Kernels of vectors: numbers and categories in columns."""
