"""Gaussian mixtures."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._files.fields import COUNT, A, ListOf, Maybe, Number, Numbers, State, WrongState
from mercer._parallel import openmp_after_fork
from mercer._sklearn import Interval, StrOptions, fit_context
from mercer._typing import Array, IntArray, Objects, Seed, Targets
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.generative.expectation_maximisation import FIT, FittedByEM
from mercer.generative.gaussian import (
    NO_MASS,
    SHAPES,
    Gaussians,
    check_axes,
    check_covariances,
    is_positive,
)


class _Mixture(NamedTuple):
    weights: Array
    means: Array
    covariances: Array


class GaussianMixture(FittedByEM):
    """Mixture of K Gaussians, fitted by EM in the log domain.

    p(x) = Σₖ πₖ N(x | μₖ, Σₖ)

    A drop-in for ``sklearn.mixture.GaussianMixture``: same parameters, attributes and, from equal
    starts, the same results, but for ``reg_covar``. Here it is a floor of the eigenvalues of the
    covariances: the fit is the likeliest mixture above the floor, and every step of EM raises the
    likelihood. ``ascent_`` has the proof.

    Parameters
    ----------
    n_components : int
        The number K of Gaussians.
    covariance_type : {"full", "tied", "diag", "spherical"}
        A covariance matrix for each component, one for all, variances of the columns, or one
        variance for each component.
    tol : float
        It ends when a step gains less than this in the mean log-likelihood.
    reg_covar : float
        The smallest eigenvalue that a covariance may have.
    max_iter : int
        The most steps of EM.
    n_init : int
        The number of starts; the likeliest result stays.
    init_params : {"kmeans", "k-means++", "random", "random_from_data"}
        How each row gets its first component.
    weights_init, means_init, precisions_init : array, optional
        πₖ, μₖ and Σₖ⁻¹ to start from.
    random_state : int, RandomState or None
        Of the starts.
    warm_start : bool
        Whether a fit starts from the last one.
    verbose, verbose_interval : int
        Whether the course is told, and after how many steps.

    Attributes
    ----------
    weights_, means_, covariances_
        The parameters πₖ, μₖ and Σₖ.
    converged_ : bool
        Whether the last step gained less than ``tol``.
    trace_ : array
        The mean log-likelihood before the first step and after every step of the best start.

    References
    ----------
    Dempster, Laird and Rubin, Maximum likelihood from incomplete data via the EM algorithm, 1977.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import GaussianMixture
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, 300), rng.normal(8, 1, 100)])[:, None]
    >>> model = GaussianMixture(2, random_state=0).fit(X)
    >>> np.sort(model.weights_).round(2), bool((np.diff(model.trace_) >= -1e-12).all())
    (array([0.25, 0.75]), True)
    """

    STATE: ClassVar[State] = {
        **FIT,
        "weights_": Numbers("components", low=0),
        "means_": Numbers("components", "features"),
        "covariances_": A(object),
        "n_features_in_": COUNT,
        "lower_bounds_": Maybe(ListOf(Number())),
        "lower_bound_": Maybe(Number()),
    }

    def check_state(self) -> None:
        """Raise where the parameters are not those of a mixture."""
        check_axes(self.covariances_, self.covariance_type)
        GaussianMixture.of(self.weights_, self.means_, self.covariances_, self.covariance_type)
        if self.n_features_in_ != self.means_.shape[1]:
            raise WrongState("it has not one mean for each column")

    takes = "vectors"

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "covariance_type": [StrOptions(set(SHAPES))],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "reg_covar": [Interval(Real, 0.0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "init_params": [StrOptions({"kmeans", "random", "random_from_data", "k-means++"})],
        "weights_init": ["array-like", None],
        "means_init": ["array-like", None],
        "precisions_init": ["array-like", None],
        "random_state": ["random_state"],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
        "verbose_interval": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance_type: str = "full",
        tol: float = 1e-3,
        reg_covar: float = 1e-6,
        max_iter: int = 100,
        n_init: int = 1,
        init_params: str = "kmeans",
        weights_init: ArrayLike | None = None,
        means_init: ArrayLike | None = None,
        precisions_init: ArrayLike | None = None,
        random_state: Seed = None,
        warm_start: bool = False,
        verbose: int = 0,
        verbose_interval: int = 10,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.weights_init = weights_init
        self.means_init = means_init
        self.precisions_init = precisions_init
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval

    @classmethod
    def of(
        cls,
        weights: ArrayLike,
        means: ArrayLike,
        covariances: ArrayLike,
        covariance_type: str = "full",
    ) -> GaussianMixture:
        """Return the mixture with given parameters, as if it had been fitted."""
        if covariance_type not in SHAPES:
            raise InvalidParameter(
                f"GaussianMixture: covariance_type={covariance_type!r} has to be one of "
                f"{', '.join(map(repr, SHAPES))}."
            )
        pi, mu = np.asarray(weights, dtype=np.float64), np.asarray(means, dtype=np.float64)
        if mu.ndim != 2 or not mu.size or not np.isfinite(mu).all():
            raise InvalidParameter("GaussianMixture: means has to be a table, one mean a row.")
        k, d = mu.shape
        if pi.shape != (k,) or not (pi > 0).all() or abs(pi.sum() - 1) > 1e-8:
            raise InvalidParameter(
                f"GaussianMixture: weights has to be {k} positive numbers that add up to 1."
            )
        sigma = check_covariances(covariances, covariance_type, k, d, "GaussianMixture")
        model = cls(k, covariance_type=covariance_type)
        model._set_parameters(_Mixture(pi, mu, sigma))
        model.n_features_in_ = d
        return model

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Objects, y: Targets = None) -> Self:
        """Fit the mixture by EM from ``n_init`` starts."""
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        if len(X) < self.n_components:
            raise InvalidInput(
                "GaussianMixture: Expected n_samples >= n_components: "
                f"n_components={self.n_components} needs as many rows at least, but X has "
                f"n_samples={len(X)}. Use fewer components."
            )

        def step(mixture: _Mixture) -> tuple[float, Callable[[], _Mixture]]:
            joint = self._joint(X, mixture)
            rows = logsumexp(joint, axis=1)
            return float(rows.mean()), lambda: self._maximise(X, np.exp(joint - rows[:, None]))

        goes_on = self.warm_start and hasattr(self, "means_")
        before = getattr(self, "lower_bound_", -np.inf) if goes_on else -np.inf
        found = self._fit_by_em(self._starts(X), step, before)
        self._set_parameters(found)
        self.lower_bounds_ = self.trace_[: max(1, self.n_iter_)].tolist()
        self.lower_bound_ = self.lower_bounds_[-1]
        return self

    def fit_predict(self, X: Objects, y: Targets = None) -> IntArray:
        """Fit, and return the likeliest component of each row."""
        return np.asarray(self.fit(X).predict(X))

    def score_samples(self, X: Objects) -> Array:
        """Return log p(x) of each row."""
        return np.asarray(logsumexp(self._joint(self._checked(X)), axis=1))

    def predict(self, X: Objects) -> IntArray:
        """Return the likeliest component of each row."""
        return np.asarray(self._joint(self._checked(X)).argmax(axis=1))

    def predict_proba(self, X: Objects) -> Array:
        """Return the probability of each component (columns) given each row."""
        return self._shares(self._checked(X))

    def sample(self, n_samples: int = 1) -> tuple[Array, IntArray]:
        """Return random rows of the mixture and the component of each."""
        check_is_fitted(self, "means_")
        if n_samples < 1:
            raise InvalidParameter(
                "GaussianMixture: Invalid value for 'n_samples': "
                f"n_samples={n_samples} has to be 1 or more."
            )
        random = check_random_state(self.random_state)
        counts = random.multinomial(n_samples, self.weights_)
        labels = np.repeat(np.arange(len(counts)), counts)
        noise = random.standard_normal((n_samples, self.means_.shape[1]))
        gaussians = self._gaussians()
        rows = [gaussians.coloured(noise[labels == k], k) for k in range(len(counts))]
        return np.concatenate(rows), labels

    def bic(self, X: Objects) -> float:
        """Return the Bayesian information criterion; lower is better."""
        X = self._checked(X)
        return float(-2 * self.score(X) * len(X) + self._n_parameters() * np.log(len(X)))

    def aic(self, X: Objects) -> float:
        """Return the Akaike information criterion; lower is better."""
        X = self._checked(X)
        return float(-2 * self.score(X) * len(X) + 2 * self._n_parameters())

    # ---- scores ------------------------------------------------------------------------------

    def fisher_scores(self, X: Objects, weights: str = "softmax") -> Array:
        """Return ∇ log p(x) for the parameters, one row for each x.

        The parameters are, in this order, the logits ηₖ of the weights πₖ = exp ηₖ/Σⱼ exp ηⱼ (or,
        with ``weights="plain"``, the weights themselves, as if they were free), the means, and the
        logarithms of the covariances: Eₖ in Σₖ = Lₖ exp(Eₖ) Lₖᵀ at Eₖ = 0, upper triangle, that is
        log variances where covariances are diagonal.
        """
        X = self._checked(X)
        shares, gaussians = self._shares(X), self._gaussians()
        parts = [shares - self.weights_ if weights == "softmax" else shares / self.weights_]
        spreads = []
        for k in range(len(self.weights_)):
            z, share = gaussians.whitened(X, k), shares[:, [k]]
            parts.append(share * gaussians.mean_slopes(z, k))
            spreads.append(share * gaussians.kind.slopes(z))
        return np.hstack(parts + ([sum(spreads)] if gaussians.kind.shared else spreads))

    def fisher_information(self) -> Array | None:
        """Return E[uuᵀ] of the scores u where it has a closed form (one component), else None."""
        check_is_fitted(self, "means_")
        if len(self.weights_) > 1:
            return None
        gaussians, d = self._gaussians(), self.means_.shape[1]
        inverse = gaussians.mean_slopes(gaussians.whitened(np.eye(d) + self.means_[0], 0), 0)
        slots = gaussians.kind.slots(d)
        information = np.zeros((1 + d + slots, 1 + d + slots))
        information[1 : d + 1, 1 : d + 1] = inverse
        information[d + 1 :, d + 1 :] = np.diag(gaussians.kind.slope_variances(d))
        return information

    # ---- helpers -----------------------------------------------------------------------------

    def _checked(self, X: Objects) -> Array:
        check_is_fitted(self, "means_")
        return np.asarray(validate_data(self, X, dtype=np.float64, reset=False))

    def _gaussians(self, mixture: _Mixture | None = None) -> Gaussians:
        if mixture is None:
            return Gaussians(self.means_, self.covariances_, self.covariance_type)
        return Gaussians(mixture.means, mixture.covariances, self.covariance_type)

    def _joint(self, X: Array, mixture: _Mixture | None = None) -> Array:
        """Return log(πₖ N(x | μₖ, Σₖ))."""
        weights = self.weights_ if mixture is None else mixture.weights
        return self._gaussians(mixture).log_densities(X) + np.log(weights)

    def _shares(self, X: Array) -> Array:
        joint = self._joint(X)
        return np.asarray(np.exp(joint - logsumexp(joint, axis=1, keepdims=True)))

    def _maximise(self, X: Array, shares: Array) -> _Mixture:
        totals = shares.sum(axis=0) + NO_MASS
        means = shares.T @ X / totals[:, None]
        shape = SHAPES[self.covariance_type]
        covariances = shape.estimate(X, shares, totals, means, self.reg_covar)
        if not is_positive(covariances, self.covariance_type):
            raise InvalidInput(
                "GaussianMixture: Fitting the mixture model failed because some components have "
                "ill-defined empirical covariance (for instance caused by singleton or collapsed "
                "samples). Try to decrease the number of components, increase reg_covar, or scale "
                "the input data."
            )
        return _Mixture(totals / totals.sum(), means, covariances)

    def _starts(self, X: Array) -> Iterator[_Mixture]:
        if self.warm_start and hasattr(self, "means_"):
            yield self._get_parameters()
            return
        random = check_random_state(self.random_state)
        for _ in range(self.n_init):
            self._initialize(X, self._first_shares(X, random))
            yield self._get_parameters()

    def _first_shares(self, X: Array, random: np.random.RandomState) -> Array:
        from sklearn.cluster import KMeans, kmeans_plusplus

        k = self.n_components
        if self.init_params == "random":
            shares: Array = random.uniform(size=(len(X), k))
            return np.asarray(shares / shares.sum(axis=1, keepdims=True))
        shares = np.zeros((len(X), k))
        if self.init_params == "kmeans":
            with warnings.catch_warnings(), openmp_after_fork():
                # Fewer distinct rows than components are no reason to stop.
                warnings.simplefilter("ignore", ConvergenceWarning)
                found = KMeans(n_clusters=k, n_init=1, random_state=random).fit(X).labels_
            shares[np.arange(len(X)), found] = 1
        elif self.init_params == "random_from_data":
            shares[random.choice(len(X), size=k, replace=False), np.arange(k)] = 1
        else:
            chosen = kmeans_plusplus(X, k, random_state=random)[1]
            shares[chosen, np.arange(k)] = 1
        return shares

    def _with_given(self, start: _Mixture) -> _Mixture:
        """Return a start with the parameters that the user chose."""
        weights, means, covariances = start
        (k, d), kind = means.shape, self.covariance_type
        if self.weights_init is not None:
            weights = _of_shape("weights", self.weights_init, (k,))
        if self.means_init is not None:
            means = _of_shape("means", self.means_init, (k, d))
        if self.precisions_init is not None:
            name, matrices = f"{kind} precision", kind in ("full", "tied")
            precisions = _of_shape(name, self.precisions_init, SHAPES[kind].shape(k, d))
            if not is_positive(precisions, kind):
                what = "symmetric, positive-definite" if matrices else "positive"
                raise InvalidParameter(f"GaussianMixture: '{name}' should be {what}.")
            covariances = np.linalg.inv(precisions) if matrices else 1 / precisions
        return GaussianMixture.of(weights, means, covariances, kind)._get_parameters()

    # Subclasses of scikit-learn's class know these three by name.

    def _initialize(self, X: Array, resp: Array) -> None:
        """Set what EM starts from, given the share of each component (columns) in each row."""
        self._set_parameters(self._with_given(self._maximise(X, resp)))

    def _get_parameters(self) -> _Mixture:
        return _Mixture(self.weights_, self.means_, self.covariances_)

    def _set_parameters(self, params: Sequence[Array]) -> None:
        """Take weights, means and covariances; scikit-learn gives factors as a fourth."""
        self.weights_, self.means_, self.covariances_ = params[:3]

    @property
    def precisions_(self) -> Array:
        """The inverses of the covariances."""
        check_is_fitted(self, "means_")
        if self.covariance_type in ("full", "tied"):
            return np.linalg.inv(self.covariances_)
        return np.asarray(1 / self.covariances_)

    @property
    def precisions_cholesky_(self) -> Array:
        """Factors of the precisions: U with UUᵀ = Σ⁻¹, or 1/σ."""
        check_is_fitted(self, "means_")
        factors = SHAPES[self.covariance_type].factors(self.covariances_)
        if self.covariance_type in ("full", "tied"):
            return np.asarray(np.linalg.inv(factors).swapaxes(-1, -2))
        return np.asarray(1 / factors)

    def _n_parameters(self) -> int:
        k, d = self.means_.shape
        shape = SHAPES[self.covariance_type]
        spreads = shape.slots(d) * (1 if shape.shared else k)
        return int(k - 1 + k * d + spreads)


def _of_shape(name: str, given: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return a parameter of the start as an array, or raise :class:`InvalidParameter`."""
    values = np.asarray(given, dtype=np.float64)
    if values.shape != shape:
        raise InvalidParameter(
            f"GaussianMixture: The parameter '{name}' should have the shape of {shape}, but got "
            f"{values.shape}."
        )
    return values
