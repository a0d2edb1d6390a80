"""What the jobs on series share: data and the case."""

from collections.abc import Callable, Mapping
from functools import cache, partial

import numpy as np

from benchmarks.gram_cases import agree, scaled
from benchmarks.in_process import InProcess


@cache
def walks(rows: int, length: int) -> np.ndarray:
    """Return random walks of unit variance, (series, channel, time), the same on every call."""
    data = np.random.default_rng(0).standard_normal((rows, 1, length)).cumsum(axis=2)
    data /= data.std()
    data.flags.writeable = False
    return data


def series_case(
    label: str,
    contenders: Mapping[str, Callable[[], Callable[[np.ndarray], np.ndarray]]],
    *,
    rows: int,
    length: int,
    scale: float,
    tolerance: float,
) -> InProcess:
    """Build the case "all pairs of one sample of series"."""
    rows = scaled(rows, scale)

    def factory(kernel: Callable[[], Callable[[np.ndarray], np.ndarray]]) -> partial:
        return partial(kernel(), walks(rows, length))

    return InProcess(
        label=f"{label}, {rows:,} series of {length} points",
        contenders={name: partial(factory, kernel) for name, kernel in contenders.items()},
        check=partial(agree, tolerance=tolerance),
        scale=scale,
        result_bytes=rows * rows * 8,
    )
