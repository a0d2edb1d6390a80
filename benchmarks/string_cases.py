"""What the jobs on strings share: the data."""

from functools import cache

import numpy as np


@cache
def dna(rows: int, length: int = 200) -> list[str]:
    """Return random DNA, the same on every call."""
    letters = np.random.default_rng(0).choice(list("ACGT"), size=(rows, length))
    return ["".join(row) for row in letters]
