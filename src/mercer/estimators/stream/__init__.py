"""Machines for data in pieces."""
