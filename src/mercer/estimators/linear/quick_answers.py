"""Answers of linear machines for new rows, at a cost that a single row can bear.

Rows in the very form that validation would give them are not validated: whether they are finite
shows in the answers. All else goes the way of scikit-learn.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._sklearn import LinearClassifierMixin, LinearModel
from mercer._typing import Array, Objects


class QuickValues(LinearModel):
    """A linear machine with values: f(x) = ⟨w, x⟩ + b, for each target."""

    def predict(self, X: Objects) -> Array:
        """Return the values of the rows."""
        found = _values(self, X)
        if found is None:
            return np.asarray(super().predict(X))
        return found[0] if self.coef_.ndim == 1 else found.T


class QuickScores(LinearClassifierMixin):
    """A linear machine with classes: the sign of one f(x) = ⟨w, x⟩ + b, or the largest of some."""

    def decision_function(self, X: Objects) -> Array:
        """Return f(x) of each row; of more than two classes, one for each."""
        found = _values(self, X)
        if found is None:
            return np.asarray(super().decision_function(X))
        return found[0] if len(found) == 1 else found.T

    def predict(self, X: Objects) -> Any:
        """Return the class of each row."""
        found = _values(self, X)
        if found is None:
            return super().predict(X)
        places = (found[0] > 0).astype(np.intp) if len(found) == 1 else found.argmax(axis=0)
        return self.classes_[places]


def _values(machine: Any, X: Objects) -> Array | None:
    """Return f of the rows, one row for each f, where X needs no validation; else None."""
    coef = machine.__dict__.get("coef_")
    if (
        type(X) is not np.ndarray
        or type(coef) is not np.ndarray
        or X.dtype != coef.dtype
        or X.dtype.char not in "df"
        or X.ndim != 2
        or X.shape[1] != coef.shape[-1]
        or not len(X)
        or "feature_names_in_" in machine.__dict__
    ):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        # BLAS is quickest with the few columns in front.
        values = (X @ coef)[None] if coef.ndim == 1 else coef @ X.T
        values = values + np.asarray(machine.intercept_).reshape(-1, 1)
        # A weight of zero might hide a number that is not finite.
        seen = np.isfinite(values).all() and coef.all()
    if not seen and not np.isfinite(X).all():
        return None
    return np.asarray(values)
