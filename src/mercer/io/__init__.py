"""Data in, models out and in."""
