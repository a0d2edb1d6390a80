"""FastICA, in the place of scikit-learn's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import DTypeLike
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from mercer import _parallel
from mercer._files.fields import Maybe, Numbers, State
from mercer._sklearn import Interval, Options, StrOptions, fit_context
from mercer._typing import Array, Objects, Targets
from mercer.estimators.constructor import parameters
from mercer.estimators.kernel_argument import caller_level
from mercer.estimators.sources.ica import LinearSources
from mercer.exceptions import InvalidParameter
from mercer.gram.feature_gram import FeatureGram
from mercer.kernels.features import Features
from mercer.problems.contrasts import CONTRASTS, Contrast, ContrastScore, logcosh
from mercer.solvers.base import Budget, Status
from mercer.solvers.sources.fixed_point import DeflationRows, ParallelRows, Unmixing

_ROWS = 512
"""Rows that are turned at once: both sides of so many stay in the cache."""
_TRUSTED = 1e-6
"""Squares below this share of the largest have lost too many digits."""


@parameters
class FastICA(LinearSources):
    """Independent component analysis by fixed points, a drop-in for scikit-learn's ``FastICA``.

    W ← (E[g(Wx)xᵀ] − diag(E g′(Wx)) W), made orthogonal after each step.

    Parameters, attributes and answers are those of scikit-learn, from the same ``random_state``.
    :class:`ICA` has better ones: a method that always converges, a check that the sources can be
    identified, and mutual information.

    Parameters
    ----------
    n_components, algorithm, whiten, fun, fun_args, max_iter, tol, w_init, whiten_solver
        As in scikit-learn.
    random_state
        As in scikit-learn.

    Attributes
    ----------
    components_, mixing_, mean_, n_iter_, whitening_, n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    A. Hyvärinen, E. Oja, Independent component analysis: algorithms and applications, 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import FastICA
    >>> sources = np.random.default_rng(0).uniform(size=(1_000, 2))
    >>> mixed = sources @ [[1.0, 0.3], [0.5, 1.0]]
    >>> found = FastICA(random_state=0).fit_transform(mixed)
    >>> abs(np.corrcoef(found.T, sources.T)[:2, 2:]).max(axis=0).round(2)
    array([1., 1.])
    """

    STATE: ClassVar[State] = {
        **LinearSources.STATE,
        "mean_": Maybe(Numbers("features")),
        "whitening_": Maybe(Numbers("sources", "features", any_order=True)),
        "_unmixing": Numbers("sources", "sources", any_order=True),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LinearSources._parameter_constraints,
        "algorithm": [StrOptions({"parallel", "deflation"})],
        "whiten": [
            StrOptions({"arbitrary-variance", "unit-variance"}),
            Options(bool, {False}),
        ],
        "fun": [StrOptions({"logcosh", "exp", "cube"}), callable],
        "fun_args": [dict, None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "whiten_solver": [StrOptions({"eigh", "svd"})],
    }

    _: KW_ONLY
    algorithm: str = "parallel"
    whiten: str | bool = "unit-variance"
    fun: str | Callable[..., object] = "logcosh"
    fun_args: dict[str, Any] | None = None
    max_iter: int = 200
    tol: float = 1e-4
    whiten_solver: str = "svd"

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Objects, y: Targets = None) -> Self:
        """Find the sources of the rows of X; ``y`` is ignored."""
        del y
        self._fit_transform(X, compute_sources=False)
        return self

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit_transform(self, X: Objects, y: Targets = None) -> Array:
        """Find the sources of the rows of X and return them; ``y`` is ignored."""
        del y
        return np.asarray(self._fit_transform(X))

    def _fit_transform(self, X: Objects, compute_sources: bool = True) -> Array | None:
        X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        contrast = self._contrast()
        d = self._count(X)
        random = check_random_state(self.random_state)
        K, root = None, np.sqrt(X.shape[0]).astype(X.dtype)
        with _parallel.one_blas_thread():
            if self.whiten:
                mean, data = _centred_columns(X)
                K = self._whitening(data)[:d]
                white = (K * root) @ data
            else:
                white = np.ascontiguousarray(X.T)
            W = self._search(contrast, white, self._start(d, random, X.dtype))
            if K is not None and self.whiten == "unit-variance":
                # The deviations of the sources, whose means are zero.
                W = W / np.sqrt(np.einsum("ij,ij->i", W @ (white @ white.T), W))[:, None]
                W *= root * root
        if K is None:
            self.components_ = W
        else:
            self.mean_, self.whitening_ = mean, K
            self.components_ = W @ K
        self.mixing_ = np.asarray(linalg.pinv(self.components_, check_finite=False))
        self._unmixing = W
        if not compute_sources:
            return None
        return np.asarray((W @ white if K is None else W @ white / root).T)

    def _contrast(self) -> Contrast:
        arguments = self.fun_args or {}
        alpha = arguments.get("alpha", 1.0)
        if not 1 <= alpha <= 2:
            raise InvalidParameter(f"FastICA: alpha must be in [1,2], it is {alpha!r}.")
        if self.fun == "logcosh":
            return logcosh(alpha)
        own = self.fun
        if isinstance(own, str):
            return CONTRASTS[own]

        def score(Y: Array, out: Array | None = None) -> ContrastScore:
            del out
            found = own(Y, **arguments)
            if not isinstance(found, tuple) or len(found) != 2:
                raise InvalidParameter(
                    "FastICA: fun has to return two arrays, g(y) and the mean of g′(y) over the "
                    "last axis."
                )
            values, slope = found
            return ContrastScore(values, slope * Y.shape[1], np.zeros(len(Y)))

        return Contrast("own", score, np.zeros_like, blocked=False)

    def _count(self, X: Array) -> int:
        d, most = self.n_components, min(X.shape)
        if not self.whiten and d is not None:
            warnings.warn("Ignoring n_components with whiten=False.", stacklevel=caller_level())
            d = None
        if d is not None and d > most:
            warnings.warn(
                f"n_components is too large: it will be set to {most}, the number of rows or "
                "columns.",
                stacklevel=caller_level(),
            )
        return int(most if d is None else min(d, most))

    def _whitening(self, data: Array) -> Array:
        if self.whiten_solver == "svd":
            # U and scales are also those of RRᵀ, where squares have digits enough, and of R of QR:
            # nobody needs the factor of the rows.
            tall = data.shape[1] > data.shape[0]
            if tall and data.dtype == np.float64:
                values, U = linalg.eigh(data @ data.T, check_finite=False)
                if values[0] > _TRUSTED * values[-1]:
                    U, scales = U[:, ::-1], np.sqrt(values[::-1])
                    return np.asarray((U * np.sign(U[0]) / scales).T)
            small = np.asarray(np.linalg.qr(data.T, mode="r")).T if tall else data
            U, scales, _ = linalg.svd(small, full_matrices=False, check_finite=False)
        else:
            values, U = linalg.eigh(data @ data.T)
            least = 10 * np.finfo(values.dtype).eps
            if (values < least).any():
                warnings.warn(
                    "There are some small singular values, using whiten_solver = 'svd' might lead "
                    "to more accurate results.",
                    stacklevel=caller_level(),
                )
            scales = np.sqrt(np.maximum(values, least))[::-1]
            U = U[:, ::-1]
        return np.asarray((U * np.sign(U[0]) / scales).T)

    def _start(self, d: int, random: np.random.RandomState, dtype: DTypeLike) -> Array:
        if self.w_init is None:
            return np.asarray(random.normal(size=(d, d)), dtype=dtype)
        W = np.asarray(self.w_init)
        if W.shape != (d, d):
            raise InvalidParameter(
                f"FastICA: w_init has invalid shape -- should be {(d, d)}, it is {W.shape}."
            )
        return W

    def _search(self, contrast: Contrast, white: Array, W: Array) -> Array:
        method = ParallelRows() if self.algorithm == "parallel" else DeflationRows()
        gram = FeatureGram(Features.numbered(white.T))
        budget = Budget(tol=self.tol, max_iter=self.max_iter)
        found = method.solve(contrast, gram, budget, Unmixing(W, np.inf))
        self.n_iter_ = found.statistics.iterations
        # Deflation ends without a word, as in scikit-learn.
        if found.status is not Status.OPTIMAL and self.algorithm == "parallel":
            warnings.warn(
                "FastICA did not converge. Consider increasing tolerance or the maximum number of "
                "iterations.",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )
        return found.value.W


def _centred_columns(X: Array) -> tuple[Array, Array]:
    """Return the means of columns, and X less them with a row for each column."""
    n, d = X.shape
    mean = X.mean(axis=0)
    data = np.empty((d, n), X.dtype)
    for start in range(0, n, _ROWS):
        rows = slice(start, start + _ROWS)
        np.subtract(X[rows].T, mean[:, None], out=data[:, rows])
    return mean, data
