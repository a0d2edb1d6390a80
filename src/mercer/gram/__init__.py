"""Gram matrices: lazy, cached, centred, low rank; and functions of the RKHS."""
