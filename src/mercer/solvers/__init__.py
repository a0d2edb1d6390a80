"""Solvers: each takes a problem and a Gram matrix and returns a solution."""
