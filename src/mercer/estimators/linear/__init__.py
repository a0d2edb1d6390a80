"""Linear machines, and logistic regression with kernels."""
