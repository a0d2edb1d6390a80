"""Reports that carry their own proof: what is in them, and who checks it."""
