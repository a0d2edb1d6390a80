"""What the jobs on Gram matrices share: data, the case, and the comparison of answers."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from benchmarks.in_process import InProcess
from benchmarks.job import OURS, Disagreement

_BLOCK = 256


def scaled(rows: int, scale: float) -> int:
    """Return the number of rows at this scale, at least a few."""
    return max(16, round(rows * scale))


@cache
def normal(rows: int, columns: int, dtype: str = "float64") -> np.ndarray:
    """Return standard normal data, the same on every call."""
    data = np.random.default_rng(0).standard_normal((rows, columns)).astype(dtype)
    data.flags.writeable = False
    return data


def agree(results: Mapping[str, Any], *, tolerance: float) -> str:
    """Compare every answer with ours, a few rows at a time so that no large copy is made."""
    ours = results[OURS]
    largest = 0.0
    for name, theirs in results.items():
        if theirs.shape != ours.shape or theirs.dtype != ours.dtype:
            raise Disagreement(
                f"{name} gives {theirs.dtype} {theirs.shape}, {OURS} {ours.dtype} {ours.shape}"
            )
        difference = max(
            float(np.abs(theirs[start : start + _BLOCK] - ours[start : start + _BLOCK]).max())
            for start in range(0, len(ours), _BLOCK)
        )
        if not difference <= tolerance:
            raise Disagreement(
                f"{name} differs from {OURS} by {difference:.1e}; {tolerance:.0e} is allowed"
            )
        largest = max(largest, difference)
    return f"Largest difference between the answers: {largest:.1e}."


def dense_gram(
    label: str,
    contenders: Mapping[str, Callable[[], Callable[[np.ndarray], np.ndarray]]],
    *,
    rows: int,
    columns: int,
    scale: float,
    dtype: str = "float64",
    tolerance: float = 1e-10,
) -> InProcess:
    """Build the case "the whole Gram matrix of one sample".

    Each contender is a function that imports its library and returns a kernel, to be called with
    the data.
    """
    rows = scaled(rows, scale)

    def factory(kernel: Callable[[], Callable[[np.ndarray], np.ndarray]]) -> partial:
        return partial(kernel(), normal(rows, columns, dtype))

    return InProcess(
        label=f"{label}, {rows:,} × {columns}, {dtype}",
        contenders={name: partial(factory, kernel) for name, kernel in contenders.items()},
        check=partial(agree, tolerance=tolerance),
        scale=scale,
        result_bytes=rows * rows * np.dtype(dtype).itemsize,
    )
