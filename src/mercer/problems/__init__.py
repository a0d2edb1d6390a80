"""Problems: plain data plus their mathematics, and certificates of their solutions."""
