"""The steps of a pipeline before its machine, which need to be done only once for each fold."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from mercer._sklearn import safe_indexing
from mercer._typing import IntArray, Model, Objects, Targets
from mercer.kernels.encoders import as_narwhals, is_frame


def taken_apart(estimator: Model) -> tuple[Any, Any, str]:
    """Return the steps before the machine (None if there are none), the machine, its prefix."""
    steps = getattr(estimator, "steps", None)
    if steps is None:
        return None, estimator, ""
    name, machine = steps[-1]
    if estimator.memory is not None:
        return None, None, ""
    before = Pipeline(steps[:-1]) if steps[:-1] else None
    if len(steps) == 2 and hasattr(steps[0][1], "fit_transform"):
        before = steps[0][1]
    return before, machine, f"{name}__"


def transformed_rows(before: Model, X: Objects, y: Targets, train: IntArray, test: IntArray) -> Any:
    """Return the rows of a fold as its machine sees them, those of training first.

    None where the steps fail, or give rows that cannot be joined: whoever fits the whole pipeline
    meets the error again.
    """
    steps = clone(before)
    known = None if y is None else safe_indexing(y, train)
    try:
        inside = steps.fit_transform(safe_indexing(X, train), known)
        return _joined(inside, steps.transform(safe_indexing(X, test)))
    except Exception:
        return None


def _joined(first: Objects, second: Objects) -> Any:
    if sparse.issparse(first):
        return sparse.vstack([first, second], format="csr")
    if isinstance(first, np.ndarray):
        return np.concatenate([first, second])
    if is_frame(first):
        import narwhals.stable.v2 as nw

        return nw.concat([as_narwhals(first), as_narwhals(second)]).to_native()
    return [*first, *second] if isinstance(first, list) else None
