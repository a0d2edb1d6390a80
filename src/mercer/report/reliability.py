"""Does the model know how sure it may be."""

from __future__ import annotations

import numpy as np

from mercer._typing import Array, BoolArray, IntArray
from mercer.report.record import Calibration
from mercer.report.scores import wilson

BINS = 10
"""Most bins of a calibration curve: tenths."""
ROWS_PER_BIN = 8
"""Rows below which the share in a bin says next to nothing."""


def calibration(
    codes: IntArray,
    predicted: IntArray,
    decisions: Array | None,
    probabilities: Array | None,
    names: list[str],
) -> Calibration | None:
    """Return how often the model is right, by how sure it is; None for too few rows.

    Two classes: the share of the second class, by its probability or else by the decision value.
    More classes: the share of right answers, by the probability of the answer or else by its lead.
    """
    if len(codes) < 2 * ROWS_PER_BIN or (decisions is None and probabilities is None):
        return None
    two = len(names) == 2
    happened = codes == 1 if two else codes == predicted
    share_name = f"share of {names[1]}" if two else "share of right answers"
    if probabilities is not None:
        said = probabilities[:, 1] if two else probabilities.max(axis=1)
        said_name = f"probability of {names[1]}" if two else "probability of the answer"
    else:
        assert decisions is not None
        said = decisions if two else _lead(decisions)
        said_name = "decision value" if two else "lead of the answer over the second-best"
    return _binned(said, happened, probabilities is not None, said_name, share_name)


def _lead(decisions: Array) -> Array:
    top = np.sort(decisions, axis=1)
    return np.asarray(top[:, -1] - top[:, -2])


def _binned(
    said: Array, happened: BoolArray, probabilities: bool, said_name: str, share_name: str
) -> Calibration:
    bins = min(BINS, len(said) // ROWS_PER_BIN)
    edges = np.unique(np.quantile(said, np.linspace(0, 1, bins + 1)[1:-1]))
    place = np.searchsorted(edges, said, side="right")
    count = np.bincount(place, minlength=len(edges) + 1)
    used = np.flatnonzero(count)
    count = count[used]
    mean = np.bincount(place, weights=said)[used] / count
    hits = np.bincount(place, weights=np.asarray(happened, dtype=float))[used]
    low, high = wilson(hits, count)
    share = hits / count
    error = float(count @ np.abs(mean - share)) / len(said) if probabilities else None
    return Calibration(
        probabilities, said_name, share_name, mean, share, low, high, count.astype(np.intp), error
    )
