"""For tests, here and elsewhere: checks of kernels and naive references to compare with."""
