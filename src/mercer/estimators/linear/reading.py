"""Parameters and data of linear machines, read at a cost that a fit of a millisecond can bear."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from mercer import _parallel
from mercer._typing import Matrix, Objects, Targets
from mercer.estimators.base import CheckedParameters
from mercer.estimators.linear.magnitudes import LARGEST_SQUARES, check_squares, sum_of_squares

_LITTLE_WORK = 1 << 29
"""Products of numbers up to which a second thread of BLAS gains less than it costs: of ridge
regressions with 7e7 to 3e8, tall and square, all took longer with two, up to three times."""


class QuickReading(CheckedParameters):
    """Defaults are not validated again, nor data in the very form that validation would give them.

    All else goes the way of scikit-learn.
    """

    n_features_in_: int
    overflow_known_as: ClassVar[str] = ""
    """What scikit-learn says of numbers whose squares overflow: some look for its words."""

    def _read_rows(self, X: Objects, y: Targets, labels: bool, **how: Any) -> tuple[Any, Any]:
        """Return rows and their targets, or their ``labels``, with squares that float64 holds.

        ``how`` are the options of ``validate_data``.
        """
        plain = are_plain(X, how.get("order"), how["dtype"]) or _are_plain_sparse(X)
        plain = plain and (
            are_plain_labels(y, X.shape[0]) if labels else are_plain_targets(y, X.shape[0])
        )
        if plain:
            X = X.asformat(how["accept_sparse"]) if sparse.issparse(X) else X
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
            return X, y
        X, y = validate_data(self, X, y, **how)
        check_squares(X, "X", known_as=self.overflow_known_as)
        if not labels:
            check_squares(y, "y", known_as=self.overflow_known_as)
        return X, y


def are_plain(X: Objects, order: str | None = None, dtype: Any = np.float64) -> bool:
    """Whether X is a matrix as validation would give it, with squares that its type holds.

    ``dtype`` is the type that numbers may have, or a list of types.
    """
    return (
        type(X) is np.ndarray
        and X.dtype in (dtype if isinstance(dtype, list) else [dtype])
        and X.ndim == 2
        and X.size > 0
        and (order is None or X.flags.c_contiguous)
        and sum_of_squares(X) <= LARGEST_SQUARES
    )


def _are_plain_sparse(X: Objects) -> bool:
    """Whether X is a sparse matrix as validation would give it, up to its format."""
    return (
        sparse.issparse(X)
        and X.format in ("csr", "csc")
        and X.dtype == np.float64
        and X.ndim == 2
        and min(X.shape) > 0
        and X.indices.dtype == X.indptr.dtype == np.int32
        and sum_of_squares(X.data) <= LARGEST_SQUARES
    )


def are_plain_targets(y: Targets, count: int) -> bool:
    """Whether y are numbers as validation would give them, one for each row, of finite squares."""
    fits = type(y) is np.ndarray and y.dtype == np.float64 and y.shape == (count,)
    return fits and sum_of_squares(y) <= LARGEST_SQUARES


def are_plain_labels(y: Targets, count: int) -> bool:
    """Whether y are whole numbers or truth values, one for each row: always classes."""
    return type(y) is np.ndarray and y.dtype.kind in "iub" and y.shape == (count,)


def quiet_blas(X: Matrix, most: int | None = None) -> AbstractContextManager[None]:
    """Hold BLAS to one thread for least squares whose factors cost next to nothing.

    These need the products of all pairs of columns, or of rows, or of ``most`` of either.
    """
    n, p = X.shape
    entries = X.nnz if sparse.issparse(X) else n * p
    pairs = min(n, p) if most is None else min(n, p, most)
    return _parallel.one_blas_thread() if entries * pairs <= _LITTLE_WORK else nullcontext()
