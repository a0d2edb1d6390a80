"""Searches that share work between grid points and folds."""
