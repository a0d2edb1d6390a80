"""Scaling of numeric columns, for tables of any kind."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import FLOAT_DTYPES, check_is_fitted, validate_data

from mercer._atomic_fit import AtomicFit
from mercer._files.fields import TEXT, A, Number, Numbers, OneOf, State, WrongState
from mercer._typing import Array, Objects, Targets
from mercer.estimators.state import SEEN
from mercer.exceptions import InvalidInput, shown
from mercer.kernels.encoders import as_narwhals, is_frame


class NumericScaler(AtomicFit, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Standardise the numeric columns of arrays and tables: z = (x − mean)/deviation.

    In frames (pandas, polars, pyarrow) columns that are not numbers stay as they are, truth values
    too. Sparse matrices are only divided, so that zeros stay zeros. Columns that never change keep
    their scale.

    Attributes
    ----------
    mean_, scale_ : dict or array
        What is subtracted from each column and what it is divided by: for frames by the names of
        the columns.

    Examples
    --------
    >>> from mercer import NumericScaler
    >>> scaler = NumericScaler().fit([[30.0, 7.0], [50.0, 7.0]])
    >>> scaler.transform([[60.0, 7.0]]), scaler.scale_  # the second column never changes
    (array([[2., 0.]]), array([10.,  1.]))
    """

    STATE: ClassVar[State] = {
        **SEEN,
        **dict.fromkeys(("mean_", "scale_"), OneOf(A(dict), Numbers("features"))),
    }

    def check_state(self) -> None:
        """Raise :class:`WrongState` where means and scales do not fit."""
        mean, scale = self.mean_, self.scale_
        if type(mean) is not type(scale):
            raise WrongState("its means and scales are not of one kind")
        if isinstance(scale, dict):
            if mean.keys() != scale.keys():
                raise WrongState("it has not one mean and one scale for each column")
            if not set(scale) <= set(getattr(self, "feature_names_in_", [])):
                raise WrongState("it has not the names of its columns")
            for name in scale:
                TEXT.check(name, {})
                Number().check(mean[name], {})
                Number().check(scale[name], {})
        if np.any(np.array(list(scale.values()) if isinstance(scale, dict) else scale) == 0):
            raise WrongState("it divides by zero")

    mean_: Any
    scale_: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Objects, y: Targets = None) -> Self:
        """Learn means and deviations of the columns; ``y`` is ignored."""
        del y
        if is_frame(X):
            self._fit_frame(X)
            return self
        X = self._read(X, reset=True)
        if sparse.issparse(X):
            self.mean_ = np.zeros(X.shape[1])
            counts = X.shape[0]
            mean = np.asarray(X.sum(axis=0), dtype=np.float64).ravel() / counts
            squares = np.asarray(X.multiply(X).sum(axis=0), dtype=np.float64).ravel() / counts
            deviation = np.sqrt(np.maximum(squares - mean**2, 0.0))
            largest = np.sqrt(squares)
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                self.mean_ = X.mean(axis=0, dtype=np.float64)
                deviation = X.std(axis=0, dtype=np.float64)
            largest = np.abs(X).max(axis=0)
        self.scale_ = _without_zeros(deviation, largest)
        return self

    def transform(self, X: Objects) -> Any:
        """Return the data with their numeric columns scaled, in the form they had."""
        check_is_fitted(self)
        if is_frame(X):
            return self._transform_frame(X)
        if isinstance(self.scale_, dict):
            raise InvalidInput(
                "NumericScaler was fitted to a table with named columns and is given one without "
                "names. Give a table with the same columns."
            )
        X = self._read(X, reset=False)
        if sparse.issparse(X):
            return X @ sparse.diags_array((1.0 / self.scale_).astype(X.dtype))
        return ((X - self.mean_) / self.scale_).astype(X.dtype, copy=False)

    def _read(self, X: Objects, reset: bool) -> Any:
        return validate_data(self, X, dtype=FLOAT_DTYPES, accept_sparse="csr", reset=reset)

    def _fit_frame(self, X: Objects) -> None:
        frame = as_narwhals(X)
        names = [str(name) for name in frame.columns]
        if len(frame) == 0:
            raise InvalidInput("NumericScaler: the table has no rows; at least one is needed.")
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.array(names, dtype=object)
        self.mean_, self.scale_ = {}, {}
        for name, column in zip(names, frame.iter_columns(), strict=True):
            if column.dtype.is_numeric():
                values = column.drop_nulls().cast(nw.Float64).to_numpy()
                values = values[np.isfinite(values)]
                if len(values):
                    self.mean_[name] = float(values.mean())
                    spread, size = np.array([values.std()]), np.array([np.abs(values).max()])
                    self.scale_[name] = float(_without_zeros(spread, size)[0])

    def _transform_frame(self, X: Objects) -> Any:
        if not isinstance(self.scale_, dict):
            raise InvalidInput(
                "NumericScaler was fitted to an array and is given a table. Give an array."
            )
        frame = as_narwhals(X)
        given = list(frame.columns)
        # Frames of pandas may have numbers for names; they are kept as texts here.
        frame = frame.rename({name: str(name) for name in given if not isinstance(name, str)})
        missing = [name for name in self.feature_names_in_ if name not in frame.columns]
        if missing:
            raise InvalidInput(
                f"NumericScaler: the table has no column {shown(missing[0])}, which was there "
                "in fit."
            )
        scaled = [
            ((nw.col(name).cast(nw.Float64) - self.mean_[name]) / self.scale_[name]).alias(name)
            for name in self.scale_
        ]
        if not scaled:
            return X
        found = frame.with_columns(*scaled)
        odd = {str(name): name for name in given if not isinstance(name, str)}
        return found.rename(odd).to_native() if odd else found.to_native()


def _without_zeros(deviation: Array, size: Array) -> Array:
    """Return 1 where a column is constant up to rounding."""
    if not np.isfinite(deviation).all():
        raise InvalidInput(
            "NumericScaler: a column has numbers whose squares are too large for floats. Divide it "
            "by a large number first."
        )
    constant = deviation <= 10 * np.finfo(np.float64).eps * np.maximum(size, 0.0)
    return np.asarray(np.where(constant, 1.0, deviation))
