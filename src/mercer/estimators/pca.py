"""Principal components and whitening."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import linalg, sparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from mercer._plot import INK, SOFT, axes as plot_axes
from mercer._typing import Array
from mercer.estimators.pca_solvers import (
    Decomposition,
    choose,
    covariance_eigh,
    full,
    lanczos,
    likeliest_dimension,
    randomised,
)

_FLOATS = [np.float64, np.float32]


class _Projection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """An affine map to the leading eigenvectors of the covariance matrix, and back."""

    components_: Array
    explained_variance_: Array
    mean_: Array

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def _read_new(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, dtype=_FLOATS, accept_sparse=("csr", "csc"), reset=False)


class PCA(_Projection):
    """Principal components: the orthogonal directions in which the data vary most.

    C = (X − 1x̄ᵀ)ᵀ(X − 1x̄ᵀ)/(n − 1) = U D Uᵀ, d₁ ≥ d₂ ≥ …,  t = U_kᵀ(x − x̄),
    and with ``whiten=True``  t = D_k^(−1/2) U_kᵀ(x − x̄)

    A drop-in for scikit-learn's ``PCA``. With ``svd_solver="auto"`` the method is chosen by cost
    and ``choice_`` says which and why. Where scikit-learn would take a randomised method, block
    Lanczos is used, whose answer is exact up to rounding.

    References: K. Pearson (1901), Philosophical Magazine 2; the noise model: M. Tipping and
    C. Bishop (1999), JRSS B 61; ``"mle"``: T. Minka (2000), NIPS.

    Parameters
    ----------
    n_components : int, float, "mle" or None
        How many; a number between 0 and 1 is the share of the variance to keep; "mle" guesses;
        None keeps all.
    copy : bool
        Whether ``fit`` leaves X as it is.
    whiten : bool
        Whether projections are scaled to unit variance.
    svd_solver : {"auto", "full", "covariance_eigh", "arpack", "lanczos", "randomized"}
        ``"arpack"`` and ``"lanczos"`` are both the block Lanczos method of mercer.
    tol : float
        Relative residual at which Lanczos stops; 0 is as good as rounding allows.
    iterated_power, n_oversamples, power_iteration_normalizer
        Rounds and extra columns of the randomised method, which always uses QR.
    random_state : int, RandomState or None
        For the starts of Lanczos and of the randomised method.

    Attributes
    ----------
    components_ : array of shape (components, columns)
        U_kᵀ.
    explained_variance_, explained_variance_ratio_, singular_values_ : arrays
        d₁ … d_k, their shares of the whole variance, and √((n − 1) d).
    mean_ : array
        x̄.
    noise_variance_ : float
        The mean of the eigenvalues that are left out.
    choice_ : str
        The method, and why it was chosen.
    """

    n_components_: int
    n_samples_: int
    explained_variance_ratio_: Array
    singular_values_: Array
    noise_variance_: float
    choice_: str

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [
            Interval(Integral, 0, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            StrOptions({"mle"}),
            None,
        ],
        "copy": ["boolean"],
        "whiten": ["boolean"],
        "svd_solver": [
            StrOptions({"auto", "full", "covariance_eigh", "arpack", "lanczos", "randomized"})
        ],
        "tol": [Interval(Real, 0, None, closed="left")],
        "iterated_power": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")],
        "n_oversamples": [Interval(Integral, 1, None, closed="left")],
        "power_iteration_normalizer": [StrOptions({"auto", "QR", "LU", "none"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int | float | str | None = None,
        *,
        copy: bool = True,
        whiten: bool = False,
        svd_solver: str = "auto",
        tol: float = 0.0,
        iterated_power: int | str = "auto",
        n_oversamples: int = 10,
        power_iteration_normalizer: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.copy = copy
        self.whiten = whiten
        self.svd_solver = svd_solver
        self.tol = tol
        self.iterated_power = iterated_power
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse = self.svd_solver not in ("full", "randomized")
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the components of X; ``y`` is ignored."""
        del y
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Find the components and return the projections of X."""
        del y
        X, parts = self._fit(X)
        if parts.scores is None:
            return self._project(X)
        scores: Array = parts.scores[:, : self.n_components_]
        return scores / self._deviations() if self.whiten else scores

    def _fit(self, X: Any) -> tuple[Any, Decomposition]:
        self._validate_params()
        if sparse.issparse(X) and self.svd_solver in ("full", "randomized"):
            raise TypeError(
                'PCA only support sparse inputs with the "arpack" and "covariance_eigh" solvers, '
                f'while "{self.svd_solver}" was passed. Use svd_solver="lanczos" or "auto".'
            )
        X = validate_data(
            self, X, dtype=_FLOATS, accept_sparse=("csr", "csc"), ensure_min_samples=2,
            force_writeable=not self.copy,
        )  # fmt: skip
        n, d = X.shape
        solver, self.choice_ = choose(self.svd_solver, X, self.n_components)
        self._fit_svd_solver = solver
        wanted = self._checked_count(solver, n, d)
        self.mean_ = np.asarray(X.mean(axis=0)).ravel().astype(X.dtype, copy=False)
        parts = self._decompose(X, solver, wanted)
        values = parts.variances
        if wanted == "mle":
            k = likeliest_dimension(values, n)
        elif isinstance(wanted, float):
            shares = np.cumsum(values / parts.total)
            k = min(int(np.searchsorted(shares, wanted, side="right")) + 1, len(values))
        else:
            k = int(wanted)
        left_out = min(n, d) - k
        rest = parts.total - float(values[:k].sum())
        self.noise_variance_ = max(rest, 0.0) / left_out if left_out else 0.0
        self.n_samples_, self.n_components_ = n, k
        self.components_ = parts.components[:k].copy()
        self.explained_variance_ = values[:k].copy()
        total = parts.total if parts.total > 0 else 1.0
        self.explained_variance_ratio_ = (values[:k] / total).astype(X.dtype)
        self.singular_values_ = np.sqrt(values[:k] * (n - 1))
        return X, parts

    def _decompose(self, X: Any, solver: str, wanted: Any) -> Decomposition:
        random = check_random_state(self.random_state)
        if solver == "full":
            return full(X, self.mean_, self.copy)
        if solver == "covariance_eigh":
            count = wanted if isinstance(wanted, int) else None
            return covariance_eigh(X, self.mean_, count)
        if solver == "randomized":
            rounds = self.iterated_power
            if isinstance(rounds, str):
                rounds = 7 if wanted < 0.1 * min(X.shape) else 4
            columns = wanted + self.n_oversamples
            return randomised(X, self.mean_, wanted, columns, rounds, random)
        return lanczos(X, self.mean_, wanted, self.tol, random)

    def _checked_count(self, solver: str, n: int, d: int) -> Any:
        wanted, most = self.n_components, min(n, d)
        truncated = solver in ("arpack", "lanczos", "randomized")
        if wanted is None:
            return most - 1 if solver in ("arpack", "lanczos") else most
        if isinstance(wanted, str):
            if truncated:
                raise ValueError(
                    f"n_components={wanted!r} cannot be a string with svd_solver='{solver}'"
                )
            if n < d:
                raise ValueError("n_components='mle' is only supported if n_samples >= n_features")
            return wanted
        if truncated and not 1 <= wanted <= most:
            raise ValueError(
                f"n_components={wanted!r} must be between 1 and min(n_samples, n_features)={most} "
                f"with svd_solver='{solver}'"
            )
        if solver in ("arpack", "lanczos") and wanted == most:
            raise ValueError(
                f"n_components={wanted!r} must be strictly less than min(n_samples, n_features)="
                f"{most} with svd_solver='{solver}'"
            )
        if not 0 <= wanted <= most:
            raise ValueError(
                f"n_components={wanted} must be between 0 and min(n_samples, n_features)={most} "
                f"with svd_solver={solver!r}"
            )
        whole: bool = isinstance(wanted, Integral)
        return int(wanted) if whole else float(wanted)

    def transform(self, X: Any) -> Array:
        """Return the projections t of the rows of X."""
        return self._project(self._read_new(X))

    def _project(self, X: Any) -> Array:
        T = np.asarray(X @ self.components_.T) - self.mean_ @ self.components_.T
        return np.asarray(T / self._deviations() if self.whiten else T)

    def _deviations(self) -> Array:
        """Return the standard deviations, where zero ones do no harm."""
        scale = np.sqrt(self.explained_variance_)
        return np.asarray(np.maximum(scale, np.finfo(scale.dtype).eps))

    def inverse_transform(self, X: Any) -> Array:
        """Return the points x̄ + U_k t of the subspace that have these projections."""
        check_is_fitted(self)
        T = check_array(X, input_name="X", dtype=_FLOATS)
        if self.whiten:
            T = T * np.sqrt(self.explained_variance_)
        return np.asarray(T @ self.components_ + self.mean_)

    def get_covariance(self) -> Array:
        """Return the covariance of the noise model, U_k(D_k − σ²I)U_kᵀ + σ²I."""
        check_is_fitted(self)
        above = np.maximum(self.explained_variance_ - self.noise_variance_, 0)
        U = self.components_.T
        C: Array = (U * above) @ U.T
        C.flat[:: len(C) + 1] += self.noise_variance_
        return C

    def get_precision(self) -> Array:
        """Return the inverse of the covariance of the noise model."""
        d = self.components_.shape[1]
        noise = self.noise_variance_
        if noise == 0:
            return np.asarray(linalg.inv(self.get_covariance()))
        above = np.maximum(self.explained_variance_ - noise, 0)
        U = self.components_.T
        P: Array = (
            np.eye(d, dtype=U.dtype) / noise - (U * (above / (noise * (noise + above)))) @ U.T
        )
        return P

    def score_samples(self, X: Any) -> Array:
        """Return the log-likelihood of each row under the noise model."""
        X = self._read_new(X)
        R = (X.toarray() if sparse.issparse(X) else X) - self.mean_
        P = self.get_precision()
        sign, determinant = np.linalg.slogdet(P)
        log_determinant = determinant if sign > 0 else -math.inf
        squares = np.einsum("ij,ij->i", R @ P, R)
        constant = R.shape[1] * math.log(2 * math.pi) - log_determinant
        return np.asarray(-0.5 * (squares + constant))

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of the rows; ``y`` is ignored."""
        del y
        return float(np.mean(self.score_samples(X)))

    def plot_variance(self, ax: Any = None) -> Any:
        """Draw the share of the variance of each component and of all up to it."""
        check_is_fitted(self)
        (ax,) = plot_axes(1, None if ax is None else [ax])
        shares = self.explained_variance_ratio_
        number = np.arange(1, len(shares) + 1)
        ax.bar(number, shares, color=SOFT, label="each component")
        ax.plot(number, np.cumsum(shares), color=INK, marker=".", label="all up to it")
        ax.set(xlabel="component", ylabel="share of the variance", ylim=(0, 1.03))
        ax.legend(loc="center right")
        return ax


class Whitening(_Projection):
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
    """

    rank_: int

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "method": [StrOptions({"pca", "zca"})],
        "tol": [Interval(Real, 0, 1, closed="left")],
    }

    def __init__(
        self, n_components: int | None = None, *, method: str = "pca", tol: float = 1e-10
    ) -> None:
        self.n_components = n_components
        self.method = method
        self.tol = tol

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
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
        zca = self.method == "zca"
        self.mean_ = centre.astype(X.dtype)
        self.components_ = (axes.T @ scaled if zca else scaled).astype(X.dtype)
        self._back = (axes.T * deviations @ axes if zca else axes.T * deviations).astype(X.dtype)
        self.explained_variance_ = (deviations**2).astype(X.dtype)
        return self

    def transform(self, X: Any) -> Array:
        """Return the whitened rows of X."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=_FLOATS, reset=False)
        return np.asarray((X - self.mean_) @ self.components_.T)

    def inverse_transform(self, X: Any) -> Array:
        """Return the data that have these whitened rows."""
        check_is_fitted(self)
        Z = check_array(X, input_name="X", dtype=_FLOATS)
        return np.asarray(Z @ self._back.T + self.mean_)
