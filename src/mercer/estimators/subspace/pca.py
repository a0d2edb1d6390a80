"""Principal components."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
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
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from mercer._files.fields import COUNT, TEXT, Number, Numbers, State, WrongState
from mercer._sklearn import Interval, RealNotInt, StrOptions
from mercer._typing import Array, Axes, Matrix, Objects, Parameter, Seed, Targets
from mercer.estimators.base import CheckedParameters
from mercer.estimators.constructor import parameters
from mercer.estimators.state import VECTORS
from mercer.estimators.subspace.drawn_projections import DrawnComponents
from mercer.exceptions import NotPositiveDefinite
from mercer.linalg.column_products import (
    MOST_COLUMNS,
    ColumnProducts,
    column_products,
    suit_products,
)
from mercer.linalg.principal_components import (
    Decomposition,
    centred_svd,
    covariance_eigh,
    gram_components,
    lanczos_components,
    likeliest_dimension,
    randomised_components,
)
from mercer.linalg.scatter import column_sums

_FLOATS = [np.float64, np.float32]

_SMALL = 100
"""Rows and columns up to which a whole decomposition takes no longer than a choice."""
_STEP, _LONG_STEP, _MORE_STEPS = 24, 72, 20
"""Costs in products of numbers inside one large product: of one in a product with a vector, in a
cache and from memory; and the steps that an iteration needs beyond two for each component. From
306 × 690 to 6,418 × 1,319."""
_IN_CACHE = 1 << 21
"""Numbers that a cache still holds: 16 MB."""


@parameters
class PCA(
    DrawnComponents,
    CheckedParameters,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Principal components: the orthogonal directions in which the data vary most.

    C = (X − 1x̄ᵀ)ᵀ(X − 1x̄ᵀ)/(n − 1) = U D Uᵀ, d₁ ≥ d₂ ≥ …,  t = U_kᵀ(x − x̄),
    and with ``whiten=True``  t = D_k^(−1/2) U_kᵀ(x − x̄)

    A drop-in for scikit-learn's ``PCA``. With ``svd_solver="auto"`` the method is chosen by cost
    and ``choice_`` says which and why. Where scikit-learn would take a randomised method, Lanczos'
    is used, whose answer is exact up to rounding.

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

    Examples
    --------
    >>> from mercer import PCA
    >>> X = [[0.0, 0.0], [1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]  # points of a line
    >>> model = PCA(n_components=1).fit(X)
    >>> abs(model.components_).round(4), model.explained_variance_ratio_.round(4)
    (array([[0.4472, 0.8944]]), array([1.]))
    """

    STATE: ClassVar[State] = {
        **VECTORS,
        "mean_": Numbers("features"),
        "components_": Numbers("components", "features", any_order=True),
        **dict.fromkeys(
            ("explained_variance_", "singular_values_", "explained_variance_ratio_"),
            Numbers("components", low=0),
        ),
        "noise_variance_": Number(low=0),
        **dict.fromkeys(("n_components_", "n_samples_"), COUNT),
        "choice_": TEXT,
    }

    def check_state(self) -> None:
        """Raise :class:`WrongState` unless there is a mean for each column."""
        if self.n_features_in_ != len(self.mean_):
            raise WrongState("it has not one mean for each column")

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [
            Interval(Integral, 0, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            StrOptions({"mle"}),
            None,
        ],
        "svd_solver": [
            StrOptions({"auto", "full", "covariance_eigh", "arpack", "lanczos", "randomized"})
        ],
        "tol": [Interval(Real, 0, None, closed="left")],
        "iterated_power": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")],
        "n_oversamples": [Interval(Integral, 1, None, closed="left")],
        "power_iteration_normalizer": [StrOptions({"auto", "QR", "LU", "none"})],
        "random_state": ["random_state"],
    }

    n_components: int | float | str | None = None
    _: KW_ONLY
    copy: bool = True
    whiten: bool = False
    svd_solver: str = "auto"
    tol: float = 0.0
    iterated_power: int | str = "auto"
    n_oversamples: int = 10
    power_iteration_normalizer: str = "auto"
    random_state: Seed = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse = self.svd_solver not in ("full", "randomized")
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def fit(self, X: Objects, y: Targets = None) -> Self:
        """Find the components of X; ``y`` is ignored."""
        del y
        self._fit(X)
        return self

    def fit_transform(self, X: Objects, y: Targets = None) -> Array:
        """Find the components and return the projections of X."""
        del y
        X, parts = self._fit(X)
        if parts.scores is None:
            return self._project(X)
        scores: Array = parts.scores[:, : self.n_components_]
        return scores / self._deviations() if self.whiten else scores

    def _fit(self, X: Objects) -> tuple[Matrix, Decomposition]:
        self._validate_params()
        if sparse.issparse(X) and self.svd_solver in ("full", "randomized"):
            raise TypeError(
                'PCA only support sparse inputs with the "arpack" and "covariance_eigh" solvers, '
                f'while "{self.svd_solver}" was passed. Use svd_solver="lanczos" or "auto".'
            )
        reading = {"dtype": _FLOATS, "accept_sparse": ("csr", "csc")}
        # Sums of columns, which are needed anyway, tell whether all numbers are finite.
        if self.copy and _is_plain(X):
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
        else:
            X = validate_data(
                self, X, **reading, ensure_min_samples=2, force_writeable=not self.copy,
                ensure_all_finite=False,
            )  # fmt: skip
        n, d = X.shape
        solver, self.choice_ = _choose(self.svd_solver, X, self.n_components)
        self._fit_svd_solver = solver
        products = _products(X, solver)
        if products is None:
            sums = column_sums(X, lambda: validate_data(self, X, **reading, reset=False))
        else:
            sums = n * products.means
        wanted = self._checked_count(solver, n, d)
        self.mean_ = (sums / n).astype(X.dtype, copy=False)
        parts = self._decompose(X, solver, wanted, None if products is None else products.products)
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

    def _decompose(
        self, X: Matrix, solver: str, wanted: Parameter, products: Array | None
    ) -> Decomposition:
        if solver == "full":
            return centred_svd(X, self.mean_, self.copy)
        if solver == "covariance_eigh":
            count = wanted if isinstance(wanted, int) else None
            return covariance_eigh(X, self.mean_, count, products)
        if solver == "gram":
            return gram_components(X, self.mean_, wanted, products)
        random = check_random_state(self.random_state)
        if solver == "randomized":
            rounds = self.iterated_power
            if isinstance(rounds, str):
                rounds = 7 if wanted < 0.1 * min(X.shape) else 4
            columns = wanted + self.n_oversamples
            return randomised_components(X, self.mean_, wanted, columns, rounds, random)
        return lanczos_components(X, self.mean_, wanted, self.tol, random)

    def _checked_count(self, solver: str, n: int, d: int) -> Any:
        wanted, most = self.n_components, min(n, d)
        truncated = solver in ("arpack", "lanczos", "randomized", "gram")
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

    def transform(self, X: Objects) -> Array:
        """Return the projections t of the rows of X."""
        return self._project(self._read_new(X))

    def _read_new(self, X: Objects) -> Matrix:
        check_is_fitted(self)
        return validate_data(self, X, dtype=_FLOATS, accept_sparse=("csr", "csc"), reset=False)

    def _project(self, X: Matrix) -> Array:
        T = np.asarray(X @ self.components_.T) - self.mean_ @ self.components_.T
        return np.asarray(T / self._deviations() if self.whiten else T)

    def _deviations(self) -> Array:
        """Return the standard deviations, where zero ones do no harm."""
        scale = np.sqrt(self.explained_variance_)
        return np.asarray(np.maximum(scale, np.finfo(scale.dtype).eps))

    def inverse_transform(self, X: Objects) -> Array:
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
            try:
                return np.asarray(linalg.inv(self.get_covariance()))
            except (np.linalg.LinAlgError, ValueError):
                raise NotPositiveDefinite(
                    "PCA: all variance is in the components, and the covariance has no inverse: "
                    "the rows have no density. Ask for fewer n_components, or drop columns that "
                    "are constant or follow from others."
                ) from None
        above = np.maximum(self.explained_variance_ - noise, 0)
        U = self.components_.T
        P: Array = (
            np.eye(d, dtype=U.dtype) / noise - (U * (above / (noise * (noise + above)))) @ U.T
        )
        return P

    def score_samples(self, X: Objects) -> Array:
        """Return the log-likelihood of each row under the noise model."""
        X = self._read_new(X)
        R = (X.toarray() if sparse.issparse(X) else X) - self.mean_
        P = self.get_precision()
        sign, determinant = np.linalg.slogdet(P)
        log_determinant = determinant if sign > 0 else -math.inf
        squares = np.einsum("ij,ij->i", R @ P, R)
        constant = R.shape[1] * math.log(2 * math.pi) - log_determinant
        return np.asarray(-0.5 * (squares + constant))

    def score(self, X: Objects, y: Targets = None) -> float:
        """Return the mean log-likelihood of the rows; ``y`` is ignored."""
        del y
        return float(np.mean(self.score_samples(X)))

    def plot_variance(self, ax: Axes = None) -> Any:
        """Draw the share of the variance of each component and of all up to it."""
        return self.plot(ax=ax)

    def _variance_shares(self) -> Array:
        return np.asarray(self.explained_variance_ratio_)


def _is_plain(X: Objects) -> bool:
    """Whether X is a matrix as validation would give it, of numbers that may not be finite."""
    return type(X) is np.ndarray and X.dtype in _FLOATS and X.ndim == 2 and min(X.shape) > 1


def _products(X: Matrix, solver: str) -> ColumnProducts | None:
    """Return means and products of the columns in one pass, None where others do as well.

    Means of many columns in float32 are not exact enough there, and numbers that are not finite are
    for the others to refuse.
    """
    if solver not in ("covariance_eigh", "gram") or sparse.issparse(X):
        return None
    if X.shape[1] > X.shape[0] or not suit_products(X):
        return None
    if X.dtype != np.float64 and X.shape[1] > MOST_COLUMNS:
        return None
    found = column_products(X)
    return found if np.isfinite(found.products).all() else None


def _choose(asked: str, X: Matrix, n_components: int | float | str | None) -> tuple[str, str]:
    """Return the method for data of this size, and the reason in words."""
    n, d = X.shape
    if asked != "auto":
        return asked, f"{asked}, as asked for."
    if sparse.issparse(X):
        return "arpack", "Block Lanczos: the data are sparse and stay so."
    if d <= 1_000 and n >= 10 * d:
        return "covariance_eigh", (
            f"Eigenvectors of the {d:,} × {d:,} covariance matrix: with {n:,} rows, one pass over "
            "the data is the cheapest."
        )
    count = 0 if n_components is None or isinstance(n_components, str) else n_components
    few = max(n, d) > _SMALL and 1 <= count < 0.2 * min(n, d)
    step = _STEP if n * d <= _IN_CACHE else _LONG_STEP
    if few and min(n, d) <= step * (2 * count + _MORE_STEPS):
        return "gram", (
            f"Eigenvectors of the inner products of the {min(n, d):,} "
            f"{'columns' if d <= n else 'rows'}: so few that their matrix costs less than the "
            "products of an iteration."
        )
    if few:
        return "lanczos", (
            f"Lanczos: {count:,} of {min(n, d):,} components need a few products with the data, no "
            "whole decomposition."
        )
    return "full", (
        f"Singular value decomposition of the {n:,} × {d:,} data: small, or most components are "
        "asked for."
    )
