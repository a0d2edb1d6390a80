"""For tests, here and elsewhere: checks of kernels."""
