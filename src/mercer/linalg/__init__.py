"""Linear algebra that several solvers share."""
