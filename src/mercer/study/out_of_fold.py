"""Answers to rows that were left out, fold by fold, put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._typing import IntArray, Labels, Objects
from mercer.report.paired import Said, of_all_classes, said_by


def asked(model: Any, X: Objects, classes: Labels) -> Said:
    """Ask a model about rows; classes are numbered as in ``classes`` (None: numbers)."""
    if classes is None:
        return said_by(model, X, classes)
    own = model.classes_
    probabilities = None
    if hasattr(model, "predict_proba"):
        found = np.asarray(model.predict_proba(X), dtype=float)
        probabilities = of_all_classes(found, own, classes, 0.0)
    decisions = np.asarray(model.decision_function(X), dtype=float)
    if len(own) < len(classes):  # a fold whose training rows lack a rare class
        each = np.column_stack([-decisions, decisions]) if decisions.ndim == 1 else decisions
        decisions = of_all_classes(each, own, classes, float(each.min()) - 1)
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
