"""Machines on landmarks, by passes over the rows."""
