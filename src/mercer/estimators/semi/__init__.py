"""Machines for few labels among many points."""
