"""Kernels: their base, their algebra, and the kernels themselves."""
