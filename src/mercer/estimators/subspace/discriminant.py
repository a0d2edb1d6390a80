"""Linear discriminant analysis: a projection that separates classes, and a classifier."""

from __future__ import annotations

import math
import warnings
from dataclasses import field
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy import linalg
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.covariance import ledoit_wolf, shrunk_covariance
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from mercer._files.fields import COUNT, LABELS, Maybe, Numbers, State, WrongState
from mercer._sklearn import HasMethods, Interval, StrOptions
from mercer._typing import Array, IntArray, Objects, Parameter, Targets
from mercer.estimators.base import CheckedParameters
from mercer.estimators.constructor import parameters
from mercer.estimators.kernel_argument import caller_level
from mercer.estimators.state import VECTORS, check_classes
from mercer.estimators.subspace.class_spread import RANK, inverse_root, quotients, whitener
from mercer.estimators.subspace.drawn_projections import DrawnDiscriminant
from mercer.exceptions import InvalidInput
from mercer.linalg.scatter import class_sums, scatter

_FLOATS = [np.float64, np.float32]


class ClassDistances(NamedTuple):
    """Σ_inter and Σ_intra: squared distances of pairs from different classes and from one."""

    inter: float
    intra: float


class GaussianClasses(CheckedParameters, ClassifierMixin, BaseEstimator):
    """Classes that share a covariance matrix: everything follows from linear scores."""

    classes_: np.ndarray[Any, Any]

    def decision_function(self, X: Objects) -> Array:
        """Return log p(class | x) up to a constant; log-odds of the second for two classes."""
        raise NotImplementedError

    def predict(self, X: Objects) -> np.ndarray[Any, Any]:
        """Return the most probable class of each row."""
        scores = self.decision_function(X)
        codes = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def predict_proba(self, X: Objects) -> Array:
        """Return the probabilities of the classes, in the order of ``classes_``."""
        return np.exp(self._log_proba(X))

    def predict_log_proba(self, X: Objects) -> Array:
        """Return the logarithms of the probabilities of the classes."""
        return self._log_proba(X)

    def class_distances(self, X: Objects, y: Targets) -> ClassDistances:
        """Return the squared distances between projections of different and of equal classes.

        Σ_inter = Σ_{k≠l} Σᵢⱼ ‖cᵢᵏ − cⱼˡ‖² and Σ_intra = Σ_k Σᵢⱼ ‖cᵢᵏ − cⱼᵏ‖²: all ordered pairs of
        rows, from the sums of each class alone.

        Parameters
        ----------
        X : data
            Objects that ``transform`` takes.
        y : array of shape (n,)
            Their classes.
        """
        machine: Any = self
        T = np.asarray(machine.transform(X), dtype=np.float64)
        check_consistent_length(T, y)
        classes, codes = np.unique(np.asarray(y), return_inverse=True)
        T = T - T.mean(axis=0)
        counts = np.bincount(codes.ravel()).astype(np.float64)
        member = codes.ravel()[:, None] == np.arange(len(classes))
        sums, squares = member.T @ T, member.T @ (T**2).sum(axis=1)
        intra = float(2 * (counts * squares - (sums**2).sum(axis=1)).sum())
        both = float(2 * (counts.sum() * squares.sum() - (sums.sum(axis=0) ** 2).sum()))
        return ClassDistances(both - intra, intra)

    def _log_proba(self, X: Objects) -> Array:
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.stack([-np.logaddexp(0, scores), -np.logaddexp(0, -scores)], axis=1)
        scores = scores - scores.max(axis=1, keepdims=True)
        return np.asarray(scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)))


def read_priors(given: ArrayLike | None, counts: IntArray, dtype: DTypeLike) -> Array:
    """Return the probabilities of the classes: the given ones, or their shares."""
    if given is None:
        return np.asarray(counts / counts.sum(), dtype=dtype)
    priors = np.asarray(given, dtype=dtype)
    if priors.shape != counts.shape:
        raise ValueError(f"priors: {priors.size} numbers for {len(counts)} classes; one each.")
    if (priors < 0).any():
        raise ValueError("priors must be non-negative")
    if abs(float(priors.sum()) - 1.0) > 1e-5:
        warnings.warn(
            "The priors do not sum to 1. Renormalizing", UserWarning, stacklevel=caller_level()
        )
        priors = priors / priors.sum()
    return priors


def read_classes(y: Targets, rows: int) -> tuple[np.ndarray[Any, Any], IntArray]:
    """Return the classes in order and the number of the class of each row."""
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"The data have one class, {classes[0]!r}; a discriminant needs two or more."
        )
    if len(classes) == rows:
        raise ValueError("The number of samples must be more than the number of classes.")
    return classes, codes.ravel()


@parameters
class LinearDiscriminantAnalysis(
    DrawnDiscriminant, ClassNamePrefixFeaturesOutMixin, TransformerMixin, GaussianClasses
):
    """The directions in which classes lie farthest apart, measured by the spread within them.

    maximise  wᵀS_b w / wᵀS_w w,  S_b = Σ_c π_c (m_c − m)(m_c − m)ᵀ,  S_w = Σ_c π_c C_c

    m_c, C_c and π_c are the mean, the covariance (with 1/n_c) and the probability of class c. The
    classifier is Bayes' rule for Gaussian classes of covariance S_w:
    log p(c | x) = m_cᵀS_w⁻¹x − ½ m_cᵀS_w⁻¹m_c + log π_c + const

    A drop-in for scikit-learn's class. Where S_w is singular, two kinds of directions without
    spread are told apart. Those along which the classes do not differ (collinear and constant
    columns) are left out. Along those that separate the classes the quotient is infinite: they come
    first and decide, as in the limit of S_w + εI, with ``separation_`` of inf, and are scaled as if
    the spread were 1e-4 of the distance. Rows that are no more than columns and classes are always
    separated by some direction without spread, which says little of new rows: of these only columns
    that are constant in each class count, as everything in scikit-learn's class is left out.

    Reference: R. A. Fisher (1936), Annals of Eugenics 7.

    Parameters
    ----------
    solver : {"svd", "lsqr", "eigen"}
        ``"svd"`` factorises the data, or for many rows the matrix of products of scaled columns;
        ``"eigen"`` solves the Rayleigh quotient with any estimate of S_w; ``"lsqr"`` gives the
        classifier alone.
    shrinkage : "auto", float or None
        Pull S_w towards a multiple of the identity: by this share, or as Ledoit and Wolf advise;
        for ``"lsqr"`` and ``"eigen"``.
    priors : array or None
        π; the shares of the classes by default.
    n_components : int or None
        Directions that ``transform`` keeps, at most classes − 1.
    store_covariance : bool
        Whether ``"svd"`` publishes S_w too.
    tol : float
        Singular values of the scaled data below this count as zero, for ``"svd"``.
    covariance_estimator : estimator or None
        Estimates C_c instead, for ``"lsqr"`` and ``"eigen"``.

    Attributes
    ----------
    coef_, intercept_ : arrays
        The linear scores; for two classes their difference.
    scalings_ : array of shape (columns, directions)
        The directions w, with wᵀS_w w = 1 (not for ``"lsqr"``).
    explained_variance_ratio_ : array
        Shares of the directions in the distance between the classes.
    separation_ : array of shape (directions,)
        The quotients wᵀS_b w / wᵀS_w w, inf where classes without spread lie apart (not for
        ``"lsqr"``).
    means_, priors_, covariance_, xbar_ : arrays
        m_c, π_c, S_w and m.

    Examples
    --------
    >>> from mercer import LinearDiscriminantAnalysis
    >>> X = [[0.0, 1.0], [0.0, 2.0], [1.0, 1.0], [1.0, 2.0]]  # the first column tells the classes
    >>> model = LinearDiscriminantAnalysis(store_covariance=True).fit(X, [0, 0, 1, 1])
    >>> model.predict([[0.1, 2.0], [0.9, 1.0]]), model.separation_
    (array([0, 1]), array([inf]))
    >>> model.between_
    array([[0.25, 0.  ],
           [0.  , 0.  ]])
    >>> round(model.quotient([1.0, 1.0]), 6)
    1.0
    """

    STATE: ClassVar[State] = {
        **VECTORS,
        "classes_": LABELS,
        "priors_": Numbers("classes", low=0),
        "means_": Numbers("classes", "features", any_order=True),
        "coef_": Numbers("functions", "features", any_order=True),
        "intercept_": Numbers("functions", finite=False),
        "scalings_": Maybe(Numbers("features", "directions", any_order=True)),
        "xbar_": Maybe(Numbers("features")),
        "covariance_": Maybe(Numbers("features", "features", any_order=True)),
        "separation_": Maybe(Numbers("quotients", low=0, finite=False)),
        **dict.fromkeys(("_max_components", "_n_features_out"), COUNT),
    }

    def check_state(self) -> None:
        """Raise :class:`WrongState` where scores, classes and columns do not fit."""
        check_classes(self.classes_, len(self.intercept_))
        if self.means_.shape[1] != self.n_features_in_:
            raise WrongState("it has not one mean for each column")
        if self.solver != "lsqr" and not hasattr(self, "scalings_"):
            raise WrongState("it has no directions")
        if self.solver == "svd" and not hasattr(self, "xbar_"):
            raise WrongState("it has no mean of all rows")

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "solver": [StrOptions({"svd", "lsqr", "eigen"})],
        "shrinkage": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both"), None],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "priors": ["array-like", None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "covariance_estimator": [HasMethods("fit"), None],
    }

    solver: str = "svd"
    shrinkage: float | str | None = None
    priors: ArrayLike | None = None
    n_components: int | None = None
    store_covariance: bool = False
    tol: float = 1e-4
    covariance_estimator: Parameter = None
    coef_: Array = field(init=False)
    intercept_: Array = field(init=False)

    def fit(self, X: Objects, y: Targets) -> Self:
        """Find the directions and the scores.

        Parameters
        ----------
        X : array of shape (n, columns)
        y : array of shape (n,)
            Classes.
        """
        self._validate_params()
        # Sums of columns, which are needed anyway, tell whether all numbers are finite.
        X, y = validate_data(
            self, X, y, ensure_min_samples=2, dtype=_FLOATS, ensure_all_finite=False
        )
        self.classes_, codes = read_classes(y, len(X))
        counts = np.bincount(codes)
        self.priors_ = read_priors(self.priors, counts, X.dtype)
        most = min(len(self.classes_) - 1, X.shape[1])
        if self.n_components is not None and self.n_components > most:
            raise ValueError("n_components cannot be larger than min(n_features, n_classes - 1).")
        self._max_components = most if self.n_components is None else self.n_components
        sums = class_sums(X, codes, len(counts), lambda: validate_data(self, X, reset=False))
        self.means_ = sums / counts[:, None].astype(X.dtype)
        if self.solver == "svd":
            self._fit_svd(X, codes)
        else:
            self._fit_covariance(X, codes)
        if len(self.classes_) == 2:
            self.coef_ = np.diff(self.coef_, axis=0).astype(X.dtype)
            self.intercept_ = np.diff(self.intercept_).astype(X.dtype)
        self._n_features_out = self._max_components
        return self

    def _fit_svd(self, X: Array, codes: IntArray) -> None:
        if self.shrinkage is not None:
            raise NotImplementedError("shrinkage not supported with 'svd' solver.")
        if self.covariance_estimator is not None:
            raise ValueError(
                "covariance estimator is not supported with svd solver. Try another solver"
            )
        n, classes = len(X), len(self.classes_)
        self.xbar_ = self.priors_ @ self.means_
        if self.store_covariance:
            self.covariance_ = self._within(X, codes)
        apart = np.sqrt(self.priors_)[:, None] * (self.means_ - self.xbar_)
        within, flat = whitener(X, self.means_, codes, self.tol, apart)
        between = np.sqrt(X.dtype.type(n / (classes - 1))) * apart @ within
        _, s, Vt = np.linalg.svd(between, full_matrices=False)
        spread = s**2
        whole = spread.sum() if spread.sum() > 0 else 1.0
        self.explained_variance_ratio_ = (spread / whole)[: self._max_components]
        # Infinite quotients come first; beside them, finite ones are measured by their own largest.
        finite = s[flat:]
        least = max(self.tol * finite.max(initial=0.0), RANK * s.max(initial=0.0))
        rank = min(flat, len(s)) + int((finite > least).sum())
        self.scalings_ = within @ Vt[:rank].T
        self.separation_ = quotients(spread[:rank] * (classes - 1) / n, flat)
        centred = (self.means_ - self.xbar_) @ self.scalings_
        self.coef_ = centred @ self.scalings_.T
        self.intercept_ = np.log(self.priors_) - 0.5 * (centred**2).sum(axis=1)
        self.intercept_ = self.intercept_ - self.coef_ @ self.xbar_

    def _fit_covariance(self, X: Array, codes: IntArray) -> None:
        S_w = self.covariance_ = self._within(X, codes)
        apart = np.sqrt(self.priors_)[:, None] * (self.means_ - self.priors_ @ self.means_)
        if self.solver == "lsqr":
            whiten, _ = inverse_root(S_w, self.means_, apart, len(X))
            self.coef_ = self.means_ @ whiten @ whiten.T
        else:
            S_b = self._estimate(X) - S_w
            whiten, flat = inverse_root(S_w, self.means_, apart, len(X))
            values, Y = linalg.eigh(whiten.T @ S_b @ whiten)
            values, Y = values[::-1], Y[:, ::-1]
            self.explained_variance_ratio_ = (values / values.sum())[: self._max_components]
            self.scalings_ = whiten @ Y
            self.separation_ = quotients(values, flat)[: len(self.classes_) - 1]
            self.coef_ = self.means_ @ self.scalings_ @ self.scalings_.T
        products = np.einsum("ij,ij->i", self.means_, self.coef_)
        self.intercept_ = np.log(self.priors_) - 0.5 * products

    def _within(self, X: Array, codes: IntArray) -> Array:
        """Return S_w = Σ π_c C_c."""
        d = X.shape[1]
        total = np.zeros((d, d), dtype=X.dtype)
        for c, prior in enumerate(self.priors_):
            total += prior * self._estimate(X[codes == c])
        return total

    def _estimate(self, X: Array) -> Array:
        """Return the covariance of some rows by the method asked for."""
        if self.covariance_estimator is not None:
            if self.shrinkage is not None and self.shrinkage != 0:
                raise ValueError(
                    "covariance_estimator and shrinkage parameters are not None. Only one of the "
                    "two can be set."
                )
            self.covariance_estimator.fit(X)
            if not hasattr(self.covariance_estimator, "covariance_"):
                name = type(self.covariance_estimator).__name__
                raise ValueError(f"{name} does not have a covariance_ attribute")
            return np.asarray(self.covariance_estimator.covariance_)
        mean = X.mean(axis=0)
        if self.shrinkage == "auto":
            R = X - mean
            # Columns are brought to one scale first: shrinking towards I compares them.
            scale = R.std(axis=0)
            scale[scale <= 10 * np.finfo(X.dtype).eps * np.abs(X).max(axis=0)] = 1.0
            C = ledoit_wolf(R / scale)[0]
            return np.asarray(scale[:, None] * C * scale)
        C = scatter(X, mean) / X.dtype.type(len(X))
        return C if self.shrinkage is None else np.asarray(shrunk_covariance(C, self.shrinkage))

    def transform(self, X: Objects) -> Array:
        """Return the projections of the rows of X on the directions."""
        if self.solver == "lsqr":
            raise NotImplementedError(
                "transform not implemented for 'lsqr' solver (use 'svd' or 'eigen')."
            )
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=_FLOATS)
        if self.solver == "svd":
            X = X - self.xbar_
        return np.asarray(X @ self.scalings_[:, : self._max_components])

    def _projected_means(self) -> Array:
        return self.transform(self.means_)

    @property
    def between_(self) -> Array:
        """S_b = Σ π_c (m_c − m)(m_c − m)ᵀ."""
        check_is_fitted(self)
        apart = self.means_ - self.priors_ @ self.means_
        return np.asarray((self.priors_[:, None] * apart).T @ apart)

    def quotient(self, w: ArrayLike) -> float:
        """Return wᵀS_b w / wᵀS_w w of a direction: inf where only the classes differ along it.

        The quotient of a direction along which nothing differs is NaN. S_w is there unless
        ``solver="svd"``, which keeps it with ``store_covariance=True``.
        """
        check_is_fitted(self)
        if not hasattr(self, "covariance_"):
            raise InvalidInput(
                "LinearDiscriminantAnalysis: the solver 'svd' has not kept S_w. Use "
                "store_covariance=True."
            )
        w = np.asarray(w, np.float64)
        if w.shape != (self.n_features_in_,):
            raise InvalidInput(
                f"quotient: a direction has {self.n_features_in_} entries, and w has the shape "
                f"{w.shape}."
            )
        above, below = (float(w @ S @ w) for S in (self.between_, self.covariance_))
        return above / below if below > 0 else math.inf if above > 0 else math.nan

    def decision_function(self, X: Objects) -> Array:
        """Return log p(class | x) up to a constant; log-odds of the second for two classes."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=_FLOATS)
        scores = np.asarray(X @ self.coef_.T + self.intercept_)
        return scores[:, 0] if scores.shape[1] == 1 else scores
