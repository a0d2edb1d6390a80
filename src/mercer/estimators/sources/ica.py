"""Independent component analysis."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from mercer import _parallel
from mercer._files.fields import COUNT, Number, Numbers, State, WrongState
from mercer._sklearn import Interval, StrOptions, fit_context
from mercer._typing import Array, Objects, Seed, Targets
from mercer.estimators.base import CheckedParameters
from mercer.estimators.constructor import parameters
from mercer.estimators.kernel_argument import caller_level
from mercer.estimators.state import VECTORS
from mercer.estimators.subspace.drawn_projections import DrawnSources
from mercer.exceptions import GaussianSourcesWarning, InvalidInput, InvalidParameter
from mercer.gram.feature_gram import FeatureGram
from mercer.kernels.features import Features
from mercer.linalg.covariance import Whitened, whiten
from mercer.problems.contrasts import CONTRASTS, Contrast, gaussian_spread, moments
from mercer.problems.entropy import SumOfEntropies, spacing_entropy
from mercer.solvers.base import Budget, Solution, Status
from mercer.solvers.sources.fixed_point import (
    DeflationFixedPoint,
    SourceSolver,
    SymmetricFixedPoint,
    Unmixing,
)
from mercer.solvers.sources.ica_newton import QuasiNewtonICA
from mercer.solvers.sources.rotations import PairRotations

_NULL_SAMPLES = 20
"""Gaussian samples that an entropy is compared with: their spread is known within a fifth."""
_ROUGH = Budget(tol=1e-3, max_iter=50)
"""For the start of mutual information, which resolves angles of 10⁻³ itself."""


@parameters
class LinearSources(
    DrawnSources,
    CheckedParameters,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """What models with sources s = W(x − mean) share."""

    n_components: int | None = None
    _: KW_ONLY
    w_init: ArrayLike | None = None
    random_state: Seed = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "w_init": ["array-like", None],
    }

    STATE: ClassVar[State] = {
        **VECTORS,
        "components_": Numbers("sources", "features", any_order=True),
        "mixing_": Numbers("features", "sources", any_order=True),
        "n_iter_": COUNT,
    }

    def check_state(self) -> None:
        """Raise :class:`WrongState` where the matrices do not belong to columns or mean."""
        if self.components_.shape[1] != self.n_features_in_:
            raise WrongState("its components have not as many columns as its training data")
        if hasattr(self, "mean_") != (getattr(self, "whiten", True) is not False):
            raise WrongState("it has a mean where it does not whiten, or none where it does")

    def transform(self, X: Objects, copy: bool = True) -> Array:
        """Return the sources of the rows of X; ``copy=False`` allows to overwrite X."""
        check_is_fitted(self)
        mean = getattr(self, "mean_", None)
        X = validate_data(
            self, X, copy=copy and mean is not None, dtype=[np.float64, np.float32], reset=False
        )
        if mean is not None:
            X -= mean
        return np.asarray(X @ self.components_.T)

    def inverse_transform(self, X: Objects, copy: bool = True) -> Array:
        """Return the mixtures of the sources X: As + mean."""
        check_is_fitted(self)
        S = check_array(X, copy=copy, dtype=[np.float64, np.float32])
        mean = getattr(self, "mean_", None)
        mixed = np.asarray(S @ self.mixing_.T)
        return mixed if mean is None else np.asarray(mixed + mean)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)


@parameters
class ICA(LinearSources):
    r"""Independent component analysis: sources s = W(x − mean) that are as independent as can be.

    x = As + mean, with the sᵢ independent, of variance 1, and at most one of them Gaussian.

    The data are whitened; then the rotation is sought whose sources are farthest from Gaussians,
    Σ |E G(sᵢ) − E G(ν)|, which is the rotation that makes them least dependent. Sources have no
    order, sign or scale of their own.

    Parameters
    ----------
    n_components : int or None
        The number of sources; None for the rank of the data.
    contrast : "logcosh", "exp", "cube", "kurtosis" or "mutual_information"
        ``"logcosh"`` (G = log cosh) suits most sources, ``"exp"`` (G = −e^(−s²/2)) heavy tails,
        ``"cube"`` (G = s⁴/4) sources without outliers; ``"kurtosis"`` is the sum of squared
        kurtoses. ``"mutual_information"`` lowers Σ H(sᵢ), estimated without any model of the
        sources: slower, and right where one function G cannot tell a source from a Gaussian.
    algorithm : "symmetric" or "deflation"
        All sources at once, or one after the other.
    solver : "auto", "quasi_newton" or "fixed_point"
        For symmetric: ``"quasi_newton"`` (which "auto" takes) lowers the objective at each step,
        at the end with all second derivatives where that is quicker, and converges on real data
        too, where the fixed point may go around in circles.
    tol : float
        The largest slope of the objective along a rotation at the end; for deflation, the largest
        change of a row of W. Mutual information is resolved to angles of 10⁻³.
    max_iter : int
        The most steps, or sweeps over all pairs for mutual information.
    w_init : array of shape (n_components, n_components) or None
        Where the search starts; None for a random rotation.
    random_state : int, RandomState or None
        Chooses the start and samples of the rows.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        W, from data to sources.
    mixing_ : array of shape (n_features, n_components)
        A, from sources to data.
    mean_, whitening_ : array
        The mean, and the matrix that whitens.
    gaussian_ : array of shape (n_components,)
        True for sources that cannot be told from Gaussians; two or more of them give a
        :class:`~mercer.GaussianSourcesWarning`.
    gradient_ : float
        What ``tol`` bounds, at the end.
    n_iter_ : int
        The steps taken.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    A. Hyvärinen, E. Oja, Independent component analysis: algorithms and applications, 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ICA
    >>> from mercer.independence import amari_distance
    >>> mixing = np.array([[1.0, 0.5], [0.3, 1.0]])
    >>> sources = np.random.default_rng(0).uniform(size=(2_000, 2))
    >>> model = ICA(random_state=0).fit(sources @ mixing.T)
    >>> bool(amari_distance(model.components_, mixing) < 0.05), model.gaussian_
    (True, array([False, False]))
    """

    STATE: ClassVar[State] = {
        **LinearSources.STATE,
        "mean_": Numbers("features"),
        "whitening_": Numbers("sources", "features", any_order=True),
        "gradient_": Number(low=0),
        "gaussian_": Numbers("sources", types="b"),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LinearSources._parameter_constraints,
        "contrast": [StrOptions({*CONTRASTS, "mutual_information"})],
        "algorithm": [StrOptions({"symmetric", "deflation"})],
        "solver": [StrOptions({"auto", "quasi_newton", "fixed_point"})],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    _: KW_ONLY
    contrast: str = "logcosh"
    algorithm: str = "symmetric"
    solver: str = "auto"
    tol: float = 1e-7
    max_iter: int = 500

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Objects, y: Targets = None) -> Self:
        """Find the sources of the rows of X; ``y`` is ignored."""
        del y
        self._fit(X)
        return self

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit_transform(self, X: Objects, y: Targets = None) -> Array:
        """Find the sources of the rows of X and return them; ``y`` is ignored."""
        del y
        white, W = self._fit(X)
        return np.asarray((W @ white).T.astype(self.components_.dtype))

    def _fit(self, X: Objects) -> tuple[Array, Array]:
        """Return the white data and their rotation to the sources."""
        X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        self._check_combination()
        random = check_random_state(self.random_state)
        with _parallel.one_blas_thread():
            white = self._whiten(np.asarray(X, dtype=np.float64))
            found = self._search(white.X, self._start(len(white.K), random), random)
            W = found.value.W
            self.gaussian_ = self._nearly_gaussian(found.value, white.X)
        self.components_ = (W @ white.K).astype(X.dtype)
        self.mixing_ = np.asarray(linalg.pinv(W @ white.K)).astype(X.dtype)
        self.mean_, self.whitening_ = white.mean.astype(X.dtype), white.K.astype(X.dtype)
        self.n_iter_ = max(found.statistics.iterations, 1)
        self.gradient_ = found.value.gradient
        self._warn(found)
        return white.X, W

    def _check_combination(self) -> None:
        if self.algorithm == "deflation" and (
            self.solver == "quasi_newton" or self.contrast == "mutual_information"
        ):
            asked = self.contrast if self.contrast == "mutual_information" else self.solver
            raise InvalidParameter(
                f"ICA: deflation finds one source after the other by a fixed point, {asked!r} "
                "finds all at once. Use algorithm='symmetric'."
            )
        if self.contrast == "mutual_information" and self.solver != "auto":
            raise InvalidParameter(
                "ICA: mutual information is lowered by rotations of pairs; leave solver='auto'."
            )

    def _whiten(self, X: Array) -> Whitened:
        white = whiten(X, self.n_components)
        if white.rank == 0:
            raise InvalidInput("ICA: all columns are constant, so there are no sources to find.")
        if self.n_components is not None and self.n_components > white.rank:
            raise InvalidInput(
                f"ICA: n_components={self.n_components}, but the data have only {white.rank} "
                f"independent directions (n_samples={X.shape[0]}, n_features={X.shape[1]}). "
                "Ask for no more, or leave n_components=None."
            )
        return white

    def _start(self, d: int, random: np.random.RandomState) -> Array:
        if self.w_init is None:
            return np.asarray(random.normal(size=(d, d)))
        W = np.asarray(self.w_init, dtype=np.float64)
        if W.shape != (d, d) or not np.isfinite(W).all() or np.linalg.matrix_rank(W) < d:
            raise InvalidParameter(
                f"ICA: w_init has the shape {W.shape}; it has to be an invertible matrix of finite "
                f"numbers of shape {(d, d)}."
            )
        return W

    def _search(self, X: Array, W: Array, random: np.random.RandomState) -> Solution[Unmixing]:
        gram = FeatureGram(Features.numbered(X.T))
        budget, start = Budget(tol=self.tol, max_iter=self.max_iter), Unmixing(W, np.inf)
        newton = QuasiNewtonICA(random)
        if self.contrast == "mutual_information":
            # The sources of logcosh are a good start, and often the end.
            near = newton.solve(CONTRASTS["logcosh"], gram, _ROUGH, start)
            return PairRotations(random).solve(SumOfEntropies(), gram, budget, near.value)
        method: SourceSolver[Contrast] = newton
        if self.algorithm == "deflation":
            method = DeflationFixedPoint()
        elif self.solver == "fixed_point":
            method = SymmetricFixedPoint()
        return method.solve(CONTRASTS[self.contrast], gram, budget, start)

    def _nearly_gaussian(self, found: Unmixing, X: Array) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Tell which sources are no farther from a Gaussian than the best of Gaussian data."""
        d, n = X.shape
        if self.contrast == "mutual_information":
            null = spacing_entropy(_gaussians(n))  # its bias and its spread depend on n
            distance, spread = spacing_entropy(found.W @ X) - null.mean(), null.std()
        else:
            contrast = CONTRASTS[self.contrast]
            at = found.moments or moments(contrast, found.W, X)
            distance, spread = at.slope - at.power, gaussian_spread(contrast) / np.sqrt(n)
        # The largest value of a random form of fourth order on a sphere is about 1.8 √d deviations.
        return np.asarray(np.abs(distance) <= (3 + 1.8 * np.sqrt(d)) * spread)

    def _warn(self, found: Solution[Unmixing]) -> None:
        count = int(self.gaussian_.sum())
        if count > 1:
            warnings.warn(
                f"ICA: {count} of {len(self.gaussian_)} sources cannot be told from Gaussians (see "
                "gaussian_), and any rotation of Gaussian sources is as independent as they are: "
                "these cannot be identified. Use fewer components, more rows, or another contrast.",
                GaussianSourcesWarning,
                stacklevel=caller_level(),
            )
        if found.status is not Status.OPTIMAL:
            stalled = self.solver == "fixed_point" or self.algorithm == "deflation"
            remedy = "solver='quasi_newton', " if stalled else ""
            warnings.warn(
                f"ICA stopped after {found.statistics.iterations} steps at "
                f"{found.value.gradient:.2g}, above "
                f"tol={self.tol:g}. Use {remedy}a larger max_iter or a larger tol.",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )


def _gaussians(n: int) -> Array:
    nulls = np.random.default_rng(0).normal(size=(_NULL_SAMPLES, n))
    nulls -= nulls.mean(axis=1, keepdims=True)
    return np.asarray(nulls / nulls.std(axis=1, keepdims=True))
