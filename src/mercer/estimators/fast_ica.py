"""FastICA, in the place of scikit-learn's."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import linalg
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.validation import validate_data

from mercer import _parallel
from mercer._typing import Array
from mercer.estimators.ica import LinearSources
from mercer.exceptions import InvalidParameter
from mercer.problems.contrasts import CONTRASTS, Contrast, Score, logcosh, projected
from mercer.solvers.fixed_point import decorrelate


class FastICA(LinearSources):
    """Independent component analysis by fixed points, a drop-in for scikit-learn's ``FastICA``.

    W ← (E[g(Wx)xᵀ] − diag(E g′(Wx)) W), made orthogonal after each step.

    Parameters, attributes and answers are those of scikit-learn, from the same ``random_state``.
    :class:`ICA` has better ones: a method that always converges, a check that the sources can be
    identified, and mutual information.

    Parameters
    ----------
    n_components, algorithm, whiten, fun, fun_args, max_iter, tol, w_init, whiten_solver, random_state
        As in scikit-learn.

    Attributes
    ----------
    components_, mixing_, mean_, n_iter_, whitening_, n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    A. Hyvärinen, E. Oja, Independent component analysis: algorithms and applications, 2000.
    """  # noqa: E501

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "algorithm": [StrOptions({"parallel", "deflation"})],
        "whiten": [
            StrOptions({"arbitrary-variance", "unit-variance"}),
            Options(bool, {False}),
        ],
        "fun": [StrOptions({"logcosh", "exp", "cube"}), callable],
        "fun_args": [dict, None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "w_init": ["array-like", None],
        "whiten_solver": [StrOptions({"eigh", "svd"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        algorithm: str = "parallel",
        whiten: Any = "unit-variance",
        fun: Any = "logcosh",
        fun_args: dict[str, Any] | None = None,
        max_iter: int = 200,
        tol: float = 1e-4,
        w_init: Any = None,
        whiten_solver: str = "svd",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.algorithm = algorithm
        self.whiten = whiten
        self.fun = fun
        self.fun_args = fun_args
        self.max_iter = max_iter
        self.tol = tol
        self.w_init = w_init
        self.whiten_solver = whiten_solver
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the sources of the rows of X; ``y`` is ignored."""
        del y
        self._fit_transform(X)
        return self

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Find the sources of the rows of X and return them; ``y`` is ignored."""
        del y
        return self._fit_transform(X)

    def _fit_transform(self, X: Any, compute_sources: bool = True) -> Array:
        del compute_sources  # they are needed for their variance anyway
        X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        contrast = self._contrast()
        d = self._count(X)
        random = check_random_state(self.random_state)
        with _parallel.one_blas_thread():
            K = None
            data = X.T
            if self.whiten:
                mean = X.mean(axis=0)
                data = np.ascontiguousarray((X - mean).T)
                K = self._whitening(data)[:d]
                white = (K @ data) * np.sqrt(X.shape[0]).astype(X.dtype)
            else:
                white = np.ascontiguousarray(data)
            start = self._start(d, random, X.dtype)
            if self.algorithm == "parallel":
                W = self._parallel(contrast, white, start)
            else:
                W = self._deflation(contrast, white, start)
            S = (W @ white).T
        if K is None:
            self.components_ = W
        else:
            S /= np.sqrt(X.shape[0]).astype(X.dtype)
            if self.whiten == "unit-variance":
                deviation = S.std(axis=0)
                S /= deviation
                W = W / deviation[:, None]
            self.mean_, self.whitening_ = mean, K
            self.components_ = W @ K
        self.mixing_ = np.asarray(linalg.pinv(self.components_, check_finite=False))
        self._unmixing = W
        return np.asarray(S)

    def _contrast(self) -> Contrast:
        arguments = self.fun_args or {}
        alpha = arguments.get("alpha", 1.0)
        if not 1 <= alpha <= 2:
            raise InvalidParameter(f"FastICA: alpha must be in [1,2], it is {alpha!r}.")
        if self.fun == "logcosh":
            return logcosh(alpha)
        if isinstance(self.fun, str):
            return CONTRASTS[self.fun]

        def score(Y: Array, out: Array | None = None) -> Score:
            del out
            found = self.fun(Y, **arguments)
            if not isinstance(found, tuple) or len(found) != 2:
                raise InvalidParameter(
                    "FastICA: fun has to return two arrays, g(y) and the mean of g′(y) over the "
                    "last axis."
                )
            values, slope = found
            return Score(values, slope * Y.shape[1], np.zeros(len(Y)))

        return Contrast("own", score, np.zeros_like, blocked=False)

    def _count(self, X: Array) -> int:
        d, most = self.n_components, min(X.shape)
        if not self.whiten and d is not None:
            warnings.warn("Ignoring n_components with whiten=False.", stacklevel=4)
            d = None
        if d is not None and d > most:
            warnings.warn(
                f"n_components is too large: it will be set to {most}, the number of rows or "
                "columns.",
                stacklevel=4,
            )
        return int(most if d is None else min(d, most))

    def _whitening(self, data: Array) -> Array:
        if self.whiten_solver == "svd":
            U, scales, _ = linalg.svd(data, full_matrices=False, check_finite=False)
        else:
            values, U = linalg.eigh(data @ data.T)
            least = 10 * np.finfo(values.dtype).eps
            if (values < least).any():
                warnings.warn(
                    "There are some small singular values, using whiten_solver = 'svd' might lead "
                    "to more accurate results.",
                    stacklevel=5,
                )
            scales = np.sqrt(np.maximum(values, least))[::-1]
            U = U[:, ::-1]
        return np.asarray((U * np.sign(U[0]) / scales).T)

    def _start(self, d: int, random: np.random.RandomState, dtype: Any) -> Array:
        if self.w_init is None:
            return np.asarray(random.normal(size=(d, d)), dtype=dtype)
        W = np.asarray(self.w_init)
        if W.shape != (d, d):
            raise InvalidParameter(
                f"FastICA: w_init has invalid shape -- should be {(d, d)}, it is {W.shape}."
            )
        return W

    def _parallel(self, contrast: Contrast, X: Array, W: Array) -> Array:
        W = decorrelate(W)
        for steps in range(1, self.max_iter + 1):
            self.n_iter_ = steps
            cross, slope = projected(contrast, W, X)
            new = decorrelate((cross - slope[:, None] * W).astype(X.dtype))
            moved = np.abs(np.abs(np.einsum("ij,ij->i", new, W)) - 1).max()
            W = new
            if moved < self.tol:
                return W
        warnings.warn(
            "FastICA did not converge. Consider increasing tolerance or the maximum number of "
            "iterations.",
            ConvergenceWarning,
            stacklevel=5,
        )
        return W

    def _deflation(self, contrast: Contrast, X: Array, start: Array) -> Array:
        W = np.zeros(start.shape, dtype=X.dtype)
        self.n_iter_ = 0
        for j, w in enumerate(start):
            w = w / np.sqrt((w**2).sum())
            for steps in range(1, self.max_iter + 1):
                cross, slope = projected(contrast, w[None], X)
                new = (cross[0] - slope[0] * w).astype(X.dtype)
                new -= new @ W[:j].T @ W[:j]
                new /= np.sqrt((new**2).sum())
                moved = abs(abs(float(new @ w)) - 1)
                w, self.n_iter_ = new, max(self.n_iter_, steps)
                if moved < self.tol:
                    break
            W[j] = w
        return W
