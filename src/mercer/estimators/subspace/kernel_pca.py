"""Principal components in the feature space of a kernel."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import euclidean_distances, pairwise_kernels
from sklearn.utils import check_random_state
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import check_array, check_is_fitted

from mercer._files.fields import COUNT, TEXT, A, ListOf, Maybe, Number, Numbers, State
from mercer._sklearn import Interval, StrOptions, check_psd_eigenvalues
from mercer._typing import Array, Objects, Parameter, Seed, Targets
from mercer.estimators.base import NamedKernelMachine
from mercer.estimators.constructor import parameters
from mercer.estimators.kernel_argument import (
    BatchFunction,
    GivenFunction,
    KernelArgument,
    caller_level,
    kernel_argument,
    kernel_named,
)
from mercer.estimators.state import SEEN, check_rows
from mercer.estimators.subspace.drawn_projections import DrawnComponents
from mercer.exceptions import IndefiniteKernelWarning, InvalidInput, NotPositiveDefinite
from mercer.gram.base import GramMatrix
from mercer.gram.computed import Gram
from mercer.gram.expansion import Expansion
from mercer.gram.feature_gram import FeatureGram
from mercer.kernels.base import Kernel
from mercer.kernels.definite import Definite
from mercer.kernels.points import Points
from mercer.landmarks.landmark_gram import LandmarkGram
from mercer.solvers.base import Budget, Status
from mercer.solvers.centred_spectrum import (
    CentredSpectrum,
    dense_spectrum,
    feature_spectrum,
    lanczos_spectrum,
    randomised_spectrum,
    smallest_eigenvalue,
    vector_spectrum,
)
from mercer.solvers.pre_image import nearest_pre_images

_FEW_ROWS = 4
"""Rows of a matrix that is decomposed sooner than multiplied with a block of vectors."""
_MOST_PRODUCTS = 1000
"""Products with K that Lanczos takes at most by default: far more than spectra that decay need."""
_NEGATIVE = 1e-5
"""Negative eigenvalues below this share of the largest one may be rounding, as in scikit-learn."""


@parameters
class KernelPCA(
    DrawnComponents, ClassNamePrefixFeaturesOutMixin, TransformerMixin, NamedKernelMachine
):
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
        Relative residual at which Lanczos stops; 0 takes 1e-9, or 1e-6 where K is in float32, as it
        is for more than 2,500 rows. A finer one asks for float64, which is also taken where float32
        turns out too coarse, as for a kernel that is nearly constant.
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
    time_limit : float or None
        Seconds after which Lanczos ends with the components so far, and a warning; ``residuals_``
        then say how good they are. The other methods are direct and are not interrupted.

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

    Examples
    --------
    >>> from mercer import KernelPCA, Spectrum
    >>> KernelPCA(1).fit([[-1.0], [0.0], [1.0]]).eigenvalues_.round(6)  # n times the variance 2/3
    array([2.])
    >>> words = KernelPCA(1, kernel=Spectrum(k=2)).fit_transform(["ACACAC", "CACACA", "GTGTGT"])
    >>> bool(words[0] * words[1] > 0), bool(words[0] * words[2] > 0)  # which are on one side
    (True, False)
    """

    STATE: ClassVar[State] = {
        **SEEN,
        "kernel_": A(Kernel),
        "shape_fit_": ListOf(COUNT, tuple),
        "_points": A(Points, size="points"),
        "_offset": Numbers("components"),
        **dict.fromkeys(("eigenvalues_", "residuals_"), Numbers("components", low=0)),
        **dict.fromkeys(
            ("eigenvectors_", "_coefficients"), Numbers("points", "components", any_order=True)
        ),
        "gamma_": Number(low=0),
        "choice_": TEXT,
        "dual_coef_": Maybe(Numbers("points", "features", any_order=True)),
        "X_transformed_fit_": Maybe(Numbers("points", "components", any_order=True)),
        "_inverse_kernel": Maybe(A(Kernel)),
        "_condensed": Maybe(A(Expansion)),
        "residual_trace_": Maybe(Number(low=0)),
    }

    def check_state(self) -> None:
        """Raise :class:`WrongState` unless the points are those that the kernel compares."""
        self._points.check_encoded_for(self.kernel_)
        check_rows(self, len(self._points))

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        **NamedKernelMachine._parameter_constraints,
        "kernel": "no_validation",
        "gamma": [Interval(Real, 0, None, closed="left"), None],
        "kernel_params": [dict, None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "eigen_solver": [StrOptions({"auto", "dense", "arpack", "lanczos", "randomized"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "iterated_power": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "n_jobs": [None, Integral],
    }

    n_components: int | None = None
    _: KW_ONLY
    kernel: Parameter = "linear"
    gamma: float | None = None
    coef0: float = 1
    kernel_params: dict[str, Any] | None = None
    alpha: float = 1.0
    fit_inverse_transform: bool = False
    eigen_solver: str = "auto"
    tol: float = 0
    max_iter: int | None = None
    iterated_power: int | str = "auto"
    remove_zero_eig: bool = False
    random_state: Seed = None
    copy_X: bool = True  # noqa: N815 - scikit-learn's name
    n_jobs: int | None = None

    @property
    def _n_features_out(self) -> int:
        return len(self.eigenvalues_)

    def fit(self, X: Objects, y: Targets = None) -> Self:
        """Find the components of the training objects; ``y`` is ignored.

        Parameters
        ----------
        X : array, sparse matrix, frame or list
            Training objects, or their Gram matrix for ``kernel="precomputed"``.
        """
        del y
        self._check_parameters()
        if self.fit_inverse_transform and self.kernel_argument.precomputed:
            raise ValueError("Cannot fit_inverse_transform with a precomputed kernel.")
        X = self._read_training(X, None)
        if self.copy_X and hasattr(X, "copy"):
            X = X.copy()
        columns = X.shape[1] if hasattr(X, "shape") and len(X.shape) == 2 else 1
        self.gamma_ = self._gamma_for(columns)
        self.kernel_, self._points = self._bind(self._symmetric(X))
        for name in ("_condensed", "residual_trace_"):
            self.__dict__.pop(name, None)
        gram = self._approximated(self.kernel_, self._points)
        if gram is None:
            whole = operator(self.kernel_, self._points)
            found = self._decompose(whole)
            self._check_spectrum(whole, found.values)
            self._publish(found)
        else:
            self._publish_projected(gram)
        self.X_fit_ = X
        if self.fit_inverse_transform:
            self._learn_inverse(X)
        return self

    def _symmetric(self, X: Objects) -> Objects:
        """Return a given matrix by its symmetric half, if that is the same to what centring leaves.

        Numbers that belong to a whole row or a whole column go with the means.
        """
        if not self.kernel_argument.precomputed or np.ndim(X) != 2 or len(X) != X.shape[1]:
            return X
        twist = X - X.T
        if not twist.any():
            return X
        means = twist.mean(axis=1)
        left = np.abs(twist - means[:, None] + means[None, :]).max()
        return (X + X.T) / 2 if left <= 1e-12 * np.abs(X).max() else X

    def fit_transform(self, X: Objects, y: Targets = None, **params: Parameter) -> Array:
        """Find the components and return the coordinates of the training objects."""
        self.fit(X, y, **params)
        return self._training_coordinates()

    def transform(self, X: Objects) -> Array:
        """Return the coordinates of objects."""
        X = self._read_new(X)
        if self._condensed is not None:
            return np.asarray(self._condensed(X) + self._offset)
        T = self._expand(X, self._points, self._coefficients)
        return np.asarray(T + self._offset)

    def _training_coordinates(self) -> Array:
        return np.asarray(self.eigenvectors_ * np.sqrt(self.eigenvalues_))

    def _kept_coordinates(self) -> Array:
        return self._training_coordinates()

    def inverse_transform(self, X: ArrayLike) -> Array:
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
        if not self.kernel_argument.compares_objects:
            return np.asarray(self._function(T, self.X_transformed_fit_) @ self.dual_coef_)
        return np.asarray(Gram(self._inverse_kernel, T, self.X_transformed_fit_) @ self.dual_coef_)

    def pre_image(self, T: Objects, *, max_iter: int = 300, tol: float = 1e-9) -> Array:
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
        if not self.kernel_.isotropic or sparse.issparse(self.X_fit_):
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
        start: Array = X[np.argmin(euclidean_distances(T, self._training_coordinates()), axis=1)]
        return nearest_pre_images(
            lambda squares: kernel.derivative(kernel.rate * squares), X, G, start, tol, max_iter
        )

    def _gamma_for(self, columns: int) -> Any:
        return 1.0 / columns if self.gamma is None else self.gamma

    @property
    def kernel_argument(self) -> KernelArgument:
        argument = super().kernel_argument
        if argument.compares_objects or argument.precomputed:
            width = "auto" if self.gamma is None else self.gamma
            return kernel_argument(self.kernel, width, self.degree, self.coef0, "KernelPCA")
        return GivenFunction(self._function, "KernelPCA")

    @property
    def _function(self) -> BatchFunction:
        """The function of two objects that was given, as one of two batches."""
        given = self.kernel_params or {}
        return partial(pairwise_kernels, metric=self.kernel, n_jobs=self.n_jobs, **given)

    def _decompose(self, gram: GramMatrix) -> CentredSpectrum:
        n = gram.shape[0]
        count = n if self.n_components is None else min(n, self.n_components)
        solver = self.eigen_solver
        random = check_random_state(self.random_state)
        if solver == "auto":
            found = vector_spectrum(gram, count, self.tol, random, self.time_limit is None)
            if found is not None:
                return found
            solver = "dense" if n <= 500 or count > 0.1 * n else "lanczos"
        if solver == "dense" or count == n or n <= _FEW_ROWS:
            return dense_spectrum(gram, count)
        if solver == "randomized":
            rounds = self.iterated_power
            if isinstance(rounds, str):
                rounds = 7 if count < 0.1 * n else 4
            return randomised_spectrum(gram, count, rounds, random)
        limits = {"tol": self.tol, "max_iter": self.max_iter or _MOST_PRODUCTS}
        found = lanczos_spectrum(gram, count, Budget.within(self.time_limit, **limits), random)
        if found.status is Status.TIME_LIMIT:
            warnings.warn(
                f"KernelPCA stopped at time_limit={self.time_limit:g} seconds, with residuals up "
                f"to {found.residuals.max():.2g} (see residuals_). Raise it, or loosen tol.",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )
        return found

    def _check_spectrum(self, gram: GramMatrix, values: Array) -> None:
        """Refuse components of negative variance, and warn where some exist and were not asked for.

        Centring makes conditionally positive kernels positive; of others nothing is known.
        """
        largest = float(values.max(initial=0.0))
        if gram.definite >= Definite.CONDITIONAL or not largest > 0:
            return
        positive = int((values > _NEGATIVE * largest).sum())
        if values.min() < -_NEGATIVE * largest:
            raise NotPositiveDefinite(
                f"KernelPCA: There are significant negative eigenvalues ({-values.min():.3g}, the "
                f"largest is {largest:.3g}) among the {len(values):,} that were asked for: the "
                f"kernel {self.kernel_} is not positive semi-definite on these data, and a "
                f"component has no negative variance. Set n_components to {positive} or less, or "
                "mend the matrix by repair(...)."
            )
        smallest = smallest_eigenvalue(gram)
        if smallest < -_NEGATIVE * largest:
            warnings.warn(
                f"KernelPCA: the kernel {self.kernel_} is not positive semi-definite on these "
                f"data: it has a negative eigenvalue of {-smallest / largest:.2g} times the "
                "largest one. The components belong to positive ones and leave the negative part "
                "out; check_kernel(kernel, X) shows how large it is, repair(...) mends a matrix.",
                IndefiniteKernelWarning,
                stacklevel=caller_level(),
            )

    def _publish_projected(self, gram: LandmarkGram) -> None:
        """Find the components from the covariance of the features, which has the same spectrum."""
        r = len(gram.basis)
        self.kernel_ = gram.kernel
        count = r if self.n_components is None else min(r, self.n_components)
        self.residual_trace_ = gram.residual_trace
        self._publish(feature_spectrum(gram.features(), count))
        self._condensed = gram.condensed(self._coefficients)

    def _publish(self, found: CentredSpectrum) -> None:
        centring = found.centring
        self.choice_ = found.choice
        values = found.values.copy()
        if len(values):  # a matrix of zeros has none
            values = check_psd_eigenvalues(values, enable_warnings=False)
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

    def _learn_inverse(self, X: Objects) -> None:
        if sparse.issparse(X):
            raise NotImplementedError("Inverse transform not implemented for sparse matrices!")
        by_function = not self.kernel_argument.compares_objects
        if not self._takes_vectors() and not by_function:
            raise InvalidInput(
                "KernelPCA: fit_inverse_transform learns a map to numbers, and these data are not "
                "vectors of numbers. Leave it out."
            )
        T = self._training_coordinates()
        if by_function:
            K = np.asarray(self._function(T, T))
        else:
            kernel = self.kernel
            if isinstance(kernel, str):
                kernel = kernel_named(kernel, self.gamma_, self.degree, self.coef0, T.shape[1])
            self._inverse_kernel = kernel.resolve(kernel.encode(T))
            K = Gram(self._inverse_kernel, T).dense()
        K.flat[:: len(K) + 1] += self.alpha
        self.dual_coef_ = linalg.solve(K, X, assume_a="pos", overwrite_a=True)
        self.X_transformed_fit_ = T


def operator(kernel: Kernel, points: Points) -> GramMatrix:
    """Return K by way of its features where they are fewer than the points."""
    if kernel.has_features and 2 * kernel.feature_width(points) <= len(points):
        return FeatureGram(kernel.feature_map(points))
    return Gram(kernel, points)
