"""Principal components, discriminants, whitening."""
