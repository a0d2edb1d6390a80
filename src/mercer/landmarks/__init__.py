"""Landmarks: a few points through which a kernel matrix on many is seen."""
