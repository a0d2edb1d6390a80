"""Answers to rows that were left out, fold by fold, put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._typing import IntArray, Labels, Objects
from mercer.report.paired import Said, said_by


def asked(model: Any, X: Objects, classes: Labels) -> Said:
    """Ask a model about rows; classes are numbered as in ``classes`` (None: numbers)."""
    if classes is None:
        return said_by(model, X, classes)
    probabilities = None
    if hasattr(model, "predict_proba"):
        probabilities = np.asarray(model.predict_proba(X), dtype=float)
    decisions = np.asarray(model.decision_function(X), dtype=float)
    # Where errors cost more in one class, the answer is not the most probable one.
    return Said(np.searchsorted(classes, model.predict(X)), decisions, probabilities)


def joined(said: Sequence[Said], tests: Sequence[IntArray], n: int) -> Said:
    """Return what was said of each of n rows by the model that had not seen it."""

    def whole(parts: list[Any]) -> Any:
        if any(part is None for part in parts):
            return None
        first = np.asarray(parts[0])
        values = np.empty((n, *first.shape[1:]), dtype=first.dtype)
        for part, test in zip(parts, tests, strict=True):
            values[test] = part
        return values

    return Said(
        whole([s.predicted for s in said]),
        whole([s.decisions for s in said]),
        whole([s.probabilities for s in said]),
    )
