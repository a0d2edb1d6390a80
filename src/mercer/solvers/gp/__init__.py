"""The evidence of Gaussian processes."""
