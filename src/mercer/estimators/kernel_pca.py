"""Principal components in the feature space of a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self, cast

import numpy as np
from scipy import linalg, sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import euclidean_distances, pairwise_kernels
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import _check_psd_eigenvalues, check_array, check_is_fitted

from mercer._typing import Array
from mercer.estimators.approximated import LandmarkView
from mercer.estimators.choice import check_name, kernel_named
from mercer.estimators.machine import KernelMachine
from mercer.exceptions import InvalidInput
from mercer.gram.centring import CentredGram, Centring
from mercer.gram.expansion import Expansion
from mercer.gram.held import HeldGram, holdable
from mercer.gram.nystrom_kernel import NystromKernel
from mercer.gram.operator import FeatureGram, Gram, GramMatrix
from mercer.kernels.base import Kernel
from mercer.kernels.points import Points
from mercer.solvers.spectral import leading_eigenpairs, randomised_range


@dataclass(frozen=True, eq=False)
class _Spectrum:
    """Eigenpairs of the centred matrix in descending order, and what centred it."""

    values: Array
    vectors: Array
    residuals: Array
    centring: Centring


class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelMachine):
    """Principal components of the images φ(x) of any objects, found from their kernel alone.

    K̃ u = λ u with the centred K̃ = HKH, H = I − 11ᵀ/n;  the component v = Σᵢ uᵢ φ̃(xᵢ)/√λ has
    unit norm, and an object has the coordinate t(x) = Σᵢ uᵢ k̃(xᵢ, x)/√λ

    λ = nσ², where σ² is the variance along v with 1/n. A drop-in for scikit-learn's ``KernelPCA``;
    ``kernel`` can also be any kernel of mercer, on any data. A few components of many rows come
    from block Lanczos on products with K̃, which is centred implicitly and never formed as a whole:
    each pair is held once, in float32 for many rows, or computed anew where memory is short.
    ``choice_`` says what was done.

    References: B. Schölkopf, A. Smola and K.-R. Müller (1998), Neural Computation 10; pre-images:
    S. Mika et al. (1999), NIPS 11; G. Bakır, J. Weston and B. Schölkopf (2004), NIPS 16.

    Parameters
    ----------
    n_components : int or None
        How many; None keeps all with λ > 0.
    kernel : Kernel, str or function
        A kernel, the name of one, ``"precomputed"``, or a function of two objects.
    gamma, degree, coef0 : float
        For kernels given by name; ``gamma=None`` is 1/columns.
    kernel_params : dict or None
        Further arguments of a function.
    alpha : float
        Ridge of the map that ``fit_inverse_transform`` learns.
    fit_inverse_transform : bool
        Whether to learn a map from coordinates back to the data (for ``inverse_transform``).
    eigen_solver : {"auto", "dense", "arpack", "lanczos", "randomized"}
        ``"arpack"`` and ``"lanczos"`` are both the block Lanczos method of mercer.
    tol : float
        Relative residual at which Lanczos stops; 0 takes 1e-9, or 1e-6 where K is in float32.
    max_iter : int or None
        The most products with K.
    iterated_power : int or "auto"
        Rounds of the randomised method.
    remove_zero_eig : bool
        Whether components with λ = 0 are dropped.
    random_state : int, RandomState or None
        For the start of Lanczos and of the randomised method.
    copy_X, n_jobs
        As in scikit-learn; ``n_jobs`` is for functions alone, kernels use all threads.
    approximation : None, int or Nystrom
        Take the components of K_nM K_MM⁺ K_Mn, for so many landmarks M, in place of those of K:
        there are M at most, and time and memory grow with n·M.

    Attributes
    ----------
    eigenvalues_, eigenvectors_ : arrays
        λ in descending order, and the unit vectors u as columns.
    residuals_ : array
        ‖K̃u − λu‖ for each pair.
    kernel_ : Kernel
        The kernel with its parameters settled on the training data.
    dual_coef_, X_transformed_fit_ : arrays
        The learnt map back, if asked for.
    X_fit_ : data
        The training data.
    gamma_ : float
        The width used by kernels given by name.
    choice_ : str
        The method, and why it was chosen.
    residual_trace_ : float
        With an approximation only: tr(K − K_nM K_MM⁺ K_Mn). No eigenvalue of the centred K is more
        than this above that of its approximation, and none is below it.
    """

    eigenvalues_: Array
    eigenvectors_: Array
    residuals_: Array
    kernel_: Kernel
    choice_: str

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "kernel": "no_validation",
        "gamma": [Interval(Real, 0, None, closed="left"), None],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "fit_inverse_transform": ["boolean"],
        "eigen_solver": [StrOptions({"auto", "dense", "arpack", "lanczos", "randomized"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "iterated_power": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "remove_zero_eig": ["boolean"],
        "random_state": ["random_state"],
        "copy_X": ["boolean"],
        "n_jobs": [None, Integral],
        "approximation": "no_validation",
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: Any = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        alpha: float = 1.0,
        fit_inverse_transform: bool = False,
        eigen_solver: str = "auto",
        tol: float = 0,
        max_iter: int | None = None,
        iterated_power: int | str = "auto",
        remove_zero_eig: bool = False,
        random_state: Any = None,
        copy_X: bool = True,
        n_jobs: int | None = None,
        approximation: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.alpha = alpha
        self.fit_inverse_transform = fit_inverse_transform
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.iterated_power = iterated_power
        self.remove_zero_eig = remove_zero_eig
        self.random_state = random_state
        self.copy_X = copy_X
        self.n_jobs = n_jobs
        self.approximation = approximation

    @property
    def _n_features_out(self) -> int:
        return len(self.eigenvalues_)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the components of the training objects; ``y`` is ignored.

        Parameters
        ----------
        X : array, sparse matrix, frame or list
            Training objects, or their Gram matrix for ``kernel="precomputed"``.
        """
        del y
        self._validate_params()
        check_name(self.kernel)
        if self.fit_inverse_transform and self._mode == "matrix":
            raise ValueError("Cannot fit_inverse_transform with a precomputed kernel.")
        X = self._read_training(X, None)
        if self.copy_X and hasattr(X, "copy"):
            X = X.copy()
        columns = X.shape[1] if hasattr(X, "shape") and len(X.shape) == 2 else 1
        self.gamma_ = self._gamma_for(columns)
        self.kernel_, self._points = self._bind(X)
        for name in ("_condensed", "residual_trace_"):
            self.__dict__.pop(name, None)
        exact = self.kernel_
        self.kernel_ = self._approximated(exact, self._points)
        if self.kernel_ is exact:
            self._publish(self._decompose(_operator(exact, self._points)))
        else:
            self._publish_projected(
                LandmarkView.of(cast(NystromKernel, self.kernel_), self._points)
            )
        self.X_fit_ = X
        if self.fit_inverse_transform:
            self._learn_inverse(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Array:
        """Find the components and return the coordinates of the training objects."""
        self.fit(X, y, **params)
        return self._training_coordinates()

    def transform(self, X: Any) -> Array:
        """Return the coordinates of objects."""
        X = self._read_new(X)
        if self._condensed is not None:
            return np.asarray(self._condensed(X) + self._offset)
        everything = np.arange(self.shape_fit_[0])
        T = self._expand(X, everything, self._points, self._coefficients)
        return np.asarray(T + self._offset)

    def _training_coordinates(self) -> Array:
        return np.asarray(self.eigenvectors_ * np.sqrt(self.eigenvalues_))

    def inverse_transform(self, X: Any) -> Array:
        """Return data for coordinates, by the ridge regression that ``fit`` learnt.

        x = Aᵀ k(T, t) with A = (k(T, T) + αI)⁻¹ X, T the coordinates of the training data
        """
        if not self.fit_inverse_transform:
            raise NotFittedError(
                "KernelPCA was made without fit_inverse_transform=True, so it has learnt no map "
                "back. Set it, or use pre_image, which needs no such map for kernels of a distance."
            )
        check_is_fitted(self)
        T = check_array(X, dtype=np.float64)
        if self._mode == "function":
            return np.asarray(self._function_values(T, self.X_transformed_fit_) @ self.dual_coef_)
        return np.asarray(Gram(self._inverse_kernel, T, self.X_transformed_fit_) @ self.dual_coef_)

    def pre_image(self, T: Any, *, max_iter: int = 300, tol: float = 1e-9) -> Array:
        """Return points whose images are nearest to the given places in feature space.

        ‖φ(z) − Σᵢ gᵢφ(xᵢ)‖² is stationary where z = Σᵢ wᵢxᵢ/Σᵢ wᵢ, wᵢ = gᵢ k′(‖z − xᵢ‖²); this is
        iterated from the training point with the nearest coordinates. For kernels of the Euclidean
        distance (``kernel.isotropic``), such as RBF.

        Parameters
        ----------
        T : array of shape (m, components)
            Coordinates, as ``transform`` gives them.
        """
        check_is_fitted(self)
        if self._mode != "kernel" or not self.kernel_.isotropic or sparse.issparse(self.X_fit_):
            raise InvalidInput(
                "pre_image needs arrays and a kernel that is a smooth function of the Euclidean "
                "distance, such as RBF. Use fit_inverse_transform=True and inverse_transform."
            )
        T = check_array(T, dtype=np.float64)
        if T.shape[1] != len(self.eigenvalues_):
            raise InvalidInput(
                f"pre_image: {T.shape[1]} coordinates for {len(self.eigenvalues_)} components."
            )
        kernel: Any = self.kernel_
        X = np.asarray(self.X_fit_, dtype=np.float64)
        G = T @ self._coefficients.T + 1.0 / len(X)
        own = self._training_coordinates()
        Z: Array = X[np.argmin(euclidean_distances(T, own), axis=1)]
        step = tol * float(np.abs(X).max(initial=1e-300))
        active = np.arange(len(Z))
        for _ in range(max_iter):
            W = G[active] * kernel.derivative(
                kernel.rate * euclidean_distances(Z[active], X, squared=True)
            )
            weight = W.sum(axis=1)
            # Where the weights cancel there is no next point; the last one stays.
            steady = np.abs(weight) > 1e-12 * np.abs(W).sum(axis=1)
            active, W, weight = active[steady], W[steady], weight[steady]
            moved = W @ X / weight[:, None]
            far = np.abs(moved - Z[active]).max(axis=1, initial=0.0) > step
            Z[active] = moved
            active = active[far]
            if not len(active):
                break
        return Z

    def _gamma_for(self, columns: int) -> Any:
        return 1.0 / columns if self.gamma is None else self.gamma

    def _function_values(self, X: Any, Z: Any) -> Array:
        given = self.kernel_params or {}
        return np.asarray(pairwise_kernels(X, Z, metric=self.kernel, n_jobs=self.n_jobs, **given))

    def _decompose(self, gram: GramMatrix) -> _Spectrum:
        n = gram.shape[0]
        count = n if self.n_components is None else min(n, self.n_components)
        solver = self.eigen_solver
        if solver == "auto":
            solver = "dense" if n <= 500 or count > 0.1 * n else "lanczos"
        if solver == "dense" or count == n:
            why = "it is small, or most of it is asked for"
            self.choice_ = f"All of the {n:,} × {n:,} matrix: {why}."
            return _dense_spectrum(gram, count)
        held, how = _hold(gram)
        centring = Centring.fit(held)
        centred = centring.apply(held)
        single = held.dtype == np.float32
        if solver == "randomized":
            vectors = self._randomised(centred, count)
            self.choice_ = f"Randomised range finder for {count:,} of {n:,} components; {how}."
        else:
            self.choice_ = f"Block Lanczos for {count:,} of {n:,} components; {how}."
            pairs = leading_eigenpairs(
                lambda V: centred @ V,
                n,
                count,
                tol=max(self.tol, 1e-6) if single else self.tol or 1e-9,
                random=check_random_state(self.random_state),
                block=2 * count + 5,
                max_products=self.max_iter or 1000,
            )
            if not single:
                return _Spectrum(pairs.values, pairs.vectors, pairs.residuals, centring)
            vectors = pairs.vectors
        # One product in full precision: eigenvalues are then right to twice the digits.
        return _rayleigh_ritz(gram, vectors)

    _condensed: Expansion | None = None
    """The components as sums over landmarks, not centred."""

    def _publish_projected(self, view: LandmarkView) -> None:
        """Find the components from the covariance of the features, which has the same spectrum."""
        r = view.features.shape[1]
        count = r if self.n_components is None else min(r, self.n_components)
        self.choice_ = f"All of the {r:,} × {r:,} covariance of the features through landmarks."
        self.residual_trace_ = view.residual_trace
        self._publish(_feature_spectrum(view.features, count))
        self._condensed = view.kernel.condensed(self._points, self._coefficients, view.features)

    def _randomised(self, centred: CentredGram, count: int) -> Array:
        n = centred.shape[0]
        rounds = self.iterated_power
        if isinstance(rounds, str):
            rounds = 7 if count < 0.1 * n else 4
        random = check_random_state(self.random_state)
        start = random.normal(size=(n, min(n, count + 10)))
        Q = randomised_range(lambda V: centred @ V, lambda V: centred @ V, start, (rounds + 1) // 2)
        values, Y = linalg.eigh(Q.T @ (centred @ Q))
        best = np.argsort(-np.abs(values))[:count]
        return np.asarray(Q @ Y[:, best])

    def _publish(self, found: _Spectrum) -> None:
        centring = found.centring
        values = _check_psd_eigenvalues(found.values.copy(), enable_warnings=False)
        vectors, _ = svd_flip(found.vectors, None)
        self.residuals_ = found.residuals
        if self.remove_zero_eig or self.n_components is None:
            kept = values > 0
            values, vectors, self.residuals_ = values[kept], vectors[:, kept], self.residuals_[kept]
        self.eigenvalues_, self.eigenvectors_ = values, np.ascontiguousarray(vectors)
        inverse = np.where(values > 0, 1.0 / np.sqrt(np.where(values > 0, values, 1.0)), 0.0)
        A = vectors * inverse
        # Centring moves into the coefficients: k̃(x, ·) A = k(x, ·) B + b.
        sums = A.sum(axis=0)
        self._coefficients = A - sums / len(A)
        self._offset = centring.total_mean * sums - centring.column_means @ A

    def _learn_inverse(self, X: Any) -> None:
        if sparse.issparse(X):
            raise NotImplementedError("Inverse transform not implemented for sparse matrices!")
        if not self._takes_vectors() and self._mode != "function":
            raise InvalidInput(
                "KernelPCA: fit_inverse_transform learns a map to numbers, and these data are not "
                "vectors of numbers. Leave it out."
            )
        T = self._training_coordinates()
        if self._mode == "function":
            K = self._function_values(T, T)
        else:
            kernel = self.kernel
            if isinstance(kernel, str):
                kernel = kernel_named(kernel, self.gamma_, self.degree, self.coef0, T.shape[1])
            self._inverse_kernel = kernel.resolve(kernel.encode(T))
            K = Gram(self._inverse_kernel, T).dense()
        K.flat[:: len(K) + 1] += self.alpha
        self.dual_coef_ = linalg.solve(K, X, assume_a="pos", overwrite_a=True)
        self.X_transformed_fit_ = T


def _operator(kernel: Kernel, points: Points) -> GramMatrix:
    """Return K by way of its features where they are fewer than the points."""
    if kernel.has_features and 2 * kernel.feature_width(points) <= len(points):
        return FeatureGram(kernel.feature_map(points))
    return Gram(kernel, points)


def _hold(gram: GramMatrix) -> tuple[GramMatrix, str]:
    """Return the matrix in the form in which many products are cheap, and say which."""
    if not isinstance(gram, Gram):
        return gram, "K is a product of features and never formed"
    dtype = holdable(gram.shape[0])
    if dtype is None:
        return gram, "K is computed anew for each product, since it does not fit the memory"
    return HeldGram(gram, dtype), f"half of K is held in {dtype}"


def _dense_spectrum(gram: GramMatrix, count: int) -> _Spectrum:
    K = gram.dense(np.float64)
    n = len(K)
    means = K.mean(axis=0)
    centring = Centring(means, float(means.mean()))
    K -= means[:, None]
    K -= means - centring.total_mean
    values, vectors = linalg.eigh(K, subset_by_index=(n - count, n - 1))
    values, vectors = values[::-1], vectors[:, ::-1]
    residuals = np.linalg.norm(K @ vectors - vectors * values, axis=0)
    return _Spectrum(values, vectors, residuals, centring)


def _feature_spectrum(Z: Array, count: int) -> _Spectrum:
    """Return the eigenpairs of the centred ZZᵀ from those of the centred ZᵀZ."""
    mean = Z.mean(axis=0)
    centring = Centring(Z @ mean, float(mean @ mean))
    Z = Z - mean
    r = Z.shape[1]
    values, V = linalg.eigh(Z.T @ Z, subset_by_index=(r - count, r - 1))
    values, V = np.maximum(values[::-1], 0.0), V[:, ::-1]
    vectors = Z @ V
    lengths = np.linalg.norm(vectors, axis=0)
    vectors /= np.where(lengths > 0, lengths, 1.0)
    residuals = np.linalg.norm(Z @ (Z.T @ vectors) - vectors * values, axis=0)
    return _Spectrum(values, vectors, residuals, centring)


def _rayleigh_ritz(gram: GramMatrix, vectors: Array) -> _Spectrum:
    """Return the best eigenpairs of the centred matrix within the span of some vectors.

    The means come from the same product, so that the kernel is evaluated once.
    """
    n = len(vectors)
    V = np.linalg.qr(vectors)[0]
    product = gram @ np.column_stack([V, np.full(n, 1 / n)])
    W, means = product[:, :-1], product[:, -1]
    centring = Centring(means, float(means.mean()))
    sums = V.sum(axis=0)
    W = W - means[:, None] * sums - (means @ V - centring.total_mean * sums)
    T = V.T @ W
    values, Y = linalg.eigh((T + T.T) / 2)
    values, Y = values[::-1], Y[:, ::-1]
    V = V @ Y
    return _Spectrum(values, V, np.linalg.norm(W @ Y - V * values, axis=0), centring)
