"""The first run: what a second process can compile while the first one compiles the rest.

Numba compiles in one thread of a process at a time. Two processes share its cache on disk, so that
each finds there what the other one has compiled. Active-set steps are about half of what a support
vector machine needs, and pair steps, which come first, are the other half.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np

from mercer._fast import active_set


def compile_steps() -> None:
    """Compile active-set steps for the types of arrays that the solver has."""
    for step in (active_set.exchange, active_set.advance):
        K, beta, slopes = np.eye(2), np.array([0.5, -0.5]), np.array([1.0, -1.0])
        block, there = np.zeros((2, 2), np.float32), np.zeros(2, np.bool_)
        group, idx = np.zeros(2, np.uint8), np.arange(2)
        lo, hi = np.full(2, -1.0), np.full(2, 1.0)
        step(K, idx, block, there, slopes, lo, hi, group, 1, beta, K @ beta, 1e-3)


def are_steps_missing() -> bool:
    """Tell whether nobody has compiled these steps and there is a place to keep them."""
    function: Any = active_set.exchange
    stats = getattr(function, "stats", None)  # there are none where compiling is switched off
    folder = stats.cache_path if stats is not None else None
    if not folder or not os.access(folder, os.W_OK):
        return False
    name = f"{active_set.__name__.rpartition('.')[2]}.{function.py_func.__qualname__}-*.nbi"
    changed = os.path.getmtime(function.py_func.__code__.co_filename)
    return all(index.stat().st_mtime < changed for index in Path(folder).glob(name))
