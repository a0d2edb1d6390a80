"""Parameters and data of linear machines, read at a cost that a fit of a millisecond can bear."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from mercer._typing import Objects, Targets
from mercer.estimators.base import CheckedParameters
from mercer.estimators.linear.magnitudes import LARGEST_SQUARES, check_squares, sum_of_squares


class QuickReading(CheckedParameters):
    """Defaults are not validated again, nor data in the very form that validation would give them.

    All else goes the way of scikit-learn.
    """

    n_features_in_: int

    def _read_rows(self, X: Objects, y: Targets, labels: bool, **how: Any) -> tuple[Any, Any]:
        """Return rows and their targets, or their ``labels``, with squares that float64 holds.

        ``how`` are the options of ``validate_data``.
        """
        plain = are_plain(X, how.get("order")) and (
            are_plain_labels(y, len(X)) if labels else are_plain_targets(y, len(X))
        )
        if plain:
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
            return X, y
        X, y = validate_data(self, X, y, **how)
        check_squares(X, "X")
        if not labels:
            check_squares(y, "y")
        return X, y


def are_plain(X: Objects, order: str | None = None) -> bool:
    """Whether X is a matrix as validation would give it, with squares that float64 holds."""
    return (
        type(X) is np.ndarray
        and X.dtype == np.float64
        and X.ndim == 2
        and X.size > 0
        and (order is None or X.flags.c_contiguous)
        and sum_of_squares(X) <= LARGEST_SQUARES
    )


def are_plain_targets(y: Targets, count: int) -> bool:
    """Whether y are numbers as validation would give them, one for each row, of finite squares."""
    fits = type(y) is np.ndarray and y.dtype == np.float64 and y.shape == (count,)
    return fits and sum_of_squares(y) <= LARGEST_SQUARES


def are_plain_labels(y: Targets, count: int) -> bool:
    """Whether y are whole numbers or truth values, one for each row: always classes."""
    return type(y) is np.ndarray and y.dtype.kind in "iub" and y.shape == (count,)
