"""Whitening: data with the identity as their covariance matrix."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import linalg
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from mercer._files.fields import COUNT, Numbers, State, WrongState
from mercer._sklearn import Interval, StrOptions
from mercer._typing import Array, Objects, Targets
from mercer.estimators.base import CheckedParameters
from mercer.estimators.constructor import parameters
from mercer.estimators.state import VECTORS

_FLOATS = [np.float64, np.float32]


@parameters
class Whitening(
    CheckedParameters, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Whitening: a linear map after which all directions have variance 1 and are uncorrelated.

    z = D^(−1/2) Uᵀ(x − x̄)  (``method="pca"``), or rotated back, z = U D^(−1/2) Uᵀ(x − x̄)
    (``method="zca"``), which stays nearest to the data; C = U D Uᵀ is the covariance matrix with
    1/(n − 1).

    Directions without variance (constant or collinear columns) are left out of ``"pca"`` and mapped
    to zero by ``"zca"``. The factorisation is that of the data, not of C, so that the covariance of
    the result is the identity up to rounding even where C is badly conditioned.

    Reference: A. Kessy, A. Lewin and K. Strimmer (2018), The American Statistician 72.

    Parameters
    ----------
    n_components : int or None
        How many directions to keep, those of the largest variance; None keeps all there are.
    method : {"pca", "zca"}
        The rotation.
    tol : float
        Directions with a deviation below ``tol`` times the largest count as constant.

    Attributes
    ----------
    components_ : array
        The map W of z = W (x − x̄).
    explained_variance_ : array
        The variance of each direction kept.
    rank_ : int
        How many directions have any variance.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Whitening
    >>> X = np.random.default_rng(0).normal(size=(100, 2)) @ [[3.0, 1.0], [0.0, 0.1]]
    >>> Z = Whitening().fit_transform(X)
    >>> bool(np.allclose(np.cov(Z.T), np.eye(2)))
    True
    """

    STATE: ClassVar[State] = {
        **VECTORS,
        "mean_": Numbers("features"),
        "components_": Numbers("rows", "features", any_order=True),
        "_back": Numbers("features", "rows", any_order=True),
        "explained_variance_": Numbers("components", low=0),
        "rank_": COUNT,
    }

    def check_state(self) -> None:
        """Raise :class:`WrongState` unless there is a mean for each column."""
        if self.n_features_in_ != len(self.mean_):
            raise WrongState("it has not one mean for each column")

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "method": [StrOptions({"pca", "zca"})],
        "tol": [Interval(Real, 0, 1, closed="left")],
    }

    n_components: int | None = None
    _: KW_ONLY
    method: str = "pca"
    tol: float = 1e-10

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def fit(self, X: Objects, y: Targets = None) -> Self:
        """Find the map that whitens X; ``y`` is ignored."""
        del y
        self._validate_params()
        X = validate_data(self, X, dtype=_FLOATS, ensure_min_samples=2)
        n, d = X.shape
        centre = X.mean(axis=0, dtype=np.float64)
        R = np.asarray(X - centre, dtype=np.float64)
        _, s, Vt = linalg.svd(np.linalg.qr(R, mode="r") if n > d else R, full_matrices=False)
        floor = max(self.tol, max(n, d) * float(np.finfo(X.dtype).eps)) * s[0]
        # A constant column keeps rounding errors of its mean, as large as its numbers are.
        floor = max(floor, math.sqrt(n) * 4 * np.finfo(X.dtype).eps * float(np.abs(centre).max()))
        self.rank_ = int((s > floor).sum())
        if self.rank_ == 0:
            raise ValueError(
                "Whitening: no column of X varies; nothing can be scaled to variance 1."
            )
        k = self.rank_
        if self.n_components is not None:
            if self.n_components > self.rank_:
                raise ValueError(
                    f"n_components={self.n_components}: the data vary in {self.rank_} directions "
                    f"only. Ask for at most {self.rank_}, or None for all."
                )
            k = self.n_components
        _, axes = svd_flip(None, Vt[:k], u_based_decision=False)
        deviations = s[:k] / math.sqrt(n - 1)
        scaled = axes / deviations[:, None]
        if not np.isfinite(scaled).all():
            raise ValueError(
                f"Whitening: a direction varies by {deviations.min():.2g} only, too little to be "
                "scaled to variance 1. Multiply the columns by a large number first."
            )
        zca = self.method == "zca"
        self.mean_ = centre.astype(X.dtype)
        self.components_ = (axes.T @ scaled if zca else scaled).astype(X.dtype)
        self._back = (axes.T * deviations @ axes if zca else axes.T * deviations).astype(X.dtype)
        self.explained_variance_ = (deviations**2).astype(X.dtype)
        return self

    def transform(self, X: Objects) -> Array:
        """Return the whitened rows of X."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=_FLOATS, reset=False)
        return np.asarray((X - self.mean_) @ self.components_.T)

    def inverse_transform(self, X: Objects) -> Array:
        """Return the data that have these whitened rows."""
        check_is_fitted(self)
        Z = check_array(X, input_name="X", dtype=_FLOATS)
        return np.asarray(Z @ self._back.T + self.mean_)
