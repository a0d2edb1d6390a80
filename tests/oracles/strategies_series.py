"""Hypothesis strategies for series and their kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from mercer.kernels.base import Kernel
from mercer.kernels.series.alignment import DTW, GlobalAlignment


def series(
    rows: tuple[int, int] = (1, 6), length: int = 7, channels: int | None = None
) -> st.SearchStrategy[list[np.ndarray[Any, np.dtype[np.float64]]]]:
    """Return lists of series (channels, time) of different lengths, some constant, some equal."""
    counts = st.integers(1, 3) if channels is None else st.just(channels)
    return counts.flatmap(lambda c: st.lists(_one(c, length), min_size=rows[0], max_size=rows[1]))


@st.composite
def _one(draw: st.DrawFn, channels: int, length: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    n = draw(st.integers(1, length))
    halves = st.integers(-4, 4)
    if draw(st.booleans()):
        return np.full((channels, n), draw(halves) / 2)
    values = draw(st.lists(halves, min_size=n * channels, max_size=n * channels))
    return np.array(values, dtype=np.float64).reshape(channels, n) / 2


def bands() -> st.SearchStrategy[float | None]:
    """Return bands of warping: none, steps, or shares."""
    return st.one_of(st.none(), st.integers(0, 8), st.sampled_from([0.1, 0.25, 0.5, 0.9]))


def series_kernels(*, positive: bool = False) -> st.SearchStrategy[Kernel]:
    """Return kernels of series; ``positive`` leaves out all but positive semi-definite ones."""
    sigma = st.one_of(st.sampled_from([0.3, 1.0, 5.0]), st.sampled_from(["scale", "median"]))
    reach = st.one_of(st.none(), st.integers(1, 8), st.sampled_from([0.5, 2.5]))
    alignment: st.SearchStrategy[Kernel] = st.builds(GlobalAlignment, sigma, reach)
    if positive:
        return alignment
    gamma = st.one_of(st.sampled_from([0.05, 1.0]), st.sampled_from(["scale", "median"]))
    return st.one_of(alignment, st.builds(DTW, bands(), gamma))
